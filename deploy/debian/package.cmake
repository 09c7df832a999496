# Install rules, and Debian packages by `cpack -G DEB`: flamegate (proxy, control, console) and
# python3-flamegate (the agent for the distribution's Python).
include(GNUInstallDirs)
set(debian_dir ${CMAKE_CURRENT_LIST_DIR})
set(staging ${CMAKE_BINARY_DIR}/debian)
set(python_agent ${CMAKE_SOURCE_DIR}/agent-protocol/agents/python)

# compressed(SOURCE TARGET): as Debian wants documents: gzip -9 without a time stamp.
function(compressed source target)
  add_custom_command(
    OUTPUT ${staging}/${target}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${staging}
    COMMAND gzip -9nc ${source} > ${staging}/${target}
    DEPENDS ${source}
    VERBATIM)
endfunction()

compressed(${debian_dir}/changelog changelog.gz)
compressed(${debian_dir}/flamegate.1 flamegate.1.gz)
compressed(${debian_dir}/flamegate.yaml.5 flamegate.yaml.5.gz)
compressed(${CMAKE_SOURCE_DIR}/config/reference.md reference.md.gz)
add_custom_target(debian_documents
  DEPENDS ${staging}/changelog.gz ${staging}/flamegate.1.gz ${staging}/flamegate.yaml.5.gz
          ${staging}/reference.md.gz)

# The agent, built by its own setup.py; its symbols are stripped as those of the program are.
add_custom_target(python_agent_build
  COMMAND ${CMAKE_COMMAND} -E env LDFLAGS=-Wl,--strip-all
          /usr/bin/python3 setup.py -q egg_info --egg-base ${staging}
          build --build-base ${staging}/agent --build-lib ${staging}/python
  WORKING_DIRECTORY ${python_agent}
  VERBATIM)
file(MAKE_DIRECTORY ${staging})

# What a package holds: `cmake --build DIR --target package_contents && (cd DIR && cpack -G DEB)`.
add_custom_target(package_contents DEPENDS flamegate debian_documents python_agent_build)

set(documents ${CMAKE_INSTALL_DATADIR}/doc/flamegate)
install(TARGETS flamegate DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT flamegate)
install(FILES ${CMAKE_SOURCE_DIR}/deploy/systemd/flamegate.service
              ${CMAKE_SOURCE_DIR}/deploy/systemd/flamegate.socket
        DESTINATION /lib/systemd/system COMPONENT flamegate)
install(FILES ${debian_dir}/flamegate.yaml DESTINATION /etc/flamegate COMPONENT flamegate)
install(FILES ${debian_dir}/flamegate.bash RENAME flamegate
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT flamegate)
install(FILES ${staging}/flamegate.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT flamegate)
install(FILES ${staging}/flamegate.yaml.5.gz
        DESTINATION ${CMAKE_INSTALL_MANDIR}/man5 COMPONENT flamegate)
install(FILES ${debian_dir}/copyright ${CMAKE_SOURCE_DIR}/NOTICE ${staging}/reference.md.gz
        DESTINATION ${documents} COMPONENT flamegate)
install(FILES ${staging}/changelog.gz RENAME changelog.Debian.gz
        DESTINATION ${documents} COMPONENT flamegate)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/config/examples DESTINATION ${documents} COMPONENT flamegate)

set(agent_documents ${CMAKE_INSTALL_DATADIR}/doc/python3-flamegate)
install(FILES ${debian_dir}/copyright ${python_agent}/README.md
        DESTINATION ${agent_documents} COMPONENT python3-flamegate)
install(FILES ${staging}/changelog.gz RENAME changelog.Debian.gz
        DESTINATION ${agent_documents} COMPONENT python3-flamegate)
install(DIRECTORY ${staging}/python/flamegate DESTINATION lib/python3/dist-packages
        COMPONENT python3-flamegate
        FILES_MATCHING PATTERN "*.py" PATTERN "*.so")

# The packages ------------------------------------------------------------------------------------
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME flamegate)
set(CPACK_PACKAGE_VENDOR flamegate)
set(CPACK_PACKAGE_CONTACT "flamegate maintainers <maintainers@flamegate.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL flamegate python3-flamegate)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_FLAMEGATE_PACKAGE_NAME flamegate)
set(CPACK_DEBIAN_FLAMEGATE_PACKAGE_SECTION httpd)
set(CPACK_DEBIAN_FLAMEGATE_PACKAGE_DEPENDS adduser)
set(CPACK_DEBIAN_FLAMEGATE_PACKAGE_SUGGESTS "python3-flamegate, redis-server")
set(CPACK_COMPONENT_FLAMEGATE_DESCRIPTION "reverse proxy that gets the flamegraph of one request
flamegate stands in front of a web application. When a request asks for it,
the agent in the application records that one request, and the answer carries
a link to its profile. All other requests pass through an ordinary reverse
proxy.")
set(CPACK_DEBIAN_FLAMEGATE_PACKAGE_CONTROL_EXTRA
    ${debian_dir}/conffiles ${debian_dir}/postinst ${debian_dir}/prerm ${debian_dir}/postrm)

set(CPACK_DEBIAN_PYTHON3-FLAMEGATE_PACKAGE_NAME python3-flamegate)
set(CPACK_DEBIAN_PYTHON3-FLAMEGATE_PACKAGE_SECTION python)
execute_process(COMMAND /usr/bin/python3 -c "import sys; v = sys.version_info; print(f'python3 (>= {v[0]}.{v[1]}), python3 (<< {v[0]}.{v[1] + 1})')"
                OUTPUT_VARIABLE python_versions OUTPUT_STRIP_TRAILING_WHITESPACE)
set(CPACK_DEBIAN_PYTHON3-FLAMEGATE_PACKAGE_DEPENDS "${python_versions}")
set(CPACK_DEBIAN_PYTHON3-FLAMEGATE_PACKAGE_CONTROL_EXTRA
    ${debian_dir}/python3-flamegate/postinst ${debian_dir}/python3-flamegate/prerm)
set(CPACK_COMPONENT_PYTHON3-FLAMEGATE_DESCRIPTION "agent of flamegate for Python applications
The agent runs inside a WSGI application and profiles the requests that the
flamegate proxy asks it to, and no others. It is started as
python3 -m flamegate, before the application's own command.")
include(CPack)
