from setuptools import Extension, setup

SOURCES = ("bytes", "call_tree", "capture", "code_guard", "code_table", "frames", "module", "pprof",
           "string_table", "thread_state", "tick_signal")

setup(
    ext_modules=[
        Extension(
            "flamegate._sampler",
            sources=[f"native/{name}.c" for name in SOURCES],
            depends=[f"native/{name}.h" for name in (*SOURCES, "clock") if name != "module"],
            extra_compile_args=["-std=gnu11", "-O2", "-Wall", "-Wextra", "-fvisibility=hidden"],
        )
    ]
)
