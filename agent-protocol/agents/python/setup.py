# No pyproject.toml: with one, pip would fetch setuptools into a fresh environment instead of using
# the one that is installed, and fail on hosts without a package index.

from setuptools import Extension, setup

SOURCES = (
    "bytes",
    "call_tree",
    "capture",
    "code_guard",
    "code_table",
    "frames",
    "module",
    "pprof",
    "string_table",
    "thread_state",
    "tick_signal",
)

setup(
    name="flamegate",
    version="1.0",
    description="Profiles the one request that the flamegate proxy asks for",
    python_requires=">=3.9,<3.13",
    packages=["flamegate"],
    package_data={"flamegate": ["site/*.py"]},
    ext_modules=[
        Extension(
            "flamegate._sampler",
            sources=[f"native/{name}.c" for name in SOURCES],
            depends=[f"native/{name}.h" for name in (*SOURCES, "clock") if name != "module"],
            extra_compile_args=["-std=gnu11", "-O2", "-Wall", "-Wextra", "-fvisibility=hidden"],
        )
    ],
)
