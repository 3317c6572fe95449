# SPDX-License-Identifier: MIT
# What `make install` puts where: headers, library, CMake package, pkg-config file.
include(CMakePackageConfigHelpers)

install(TARGETS deep_gemm EXPORT deep_gemmTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/deep_gemm ${PROJECT_BINARY_DIR}/include/deep_gemm
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
if(TARGET deepgemm)
  # found from any prefix, without LD_LIBRARY_PATH
  set_target_properties(deepgemm PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS deepgemm DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

set(PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/deep_gemm)
install(EXPORT deep_gemmTargets NAMESPACE deep_gemm:: DESTINATION ${PACKAGE_DIR})
configure_package_config_file(${PROJECT_SOURCE_DIR}/packaging/deep_gemmConfig.cmake.in
  ${PROJECT_BINARY_DIR}/deep_gemmConfig.cmake INSTALL_DESTINATION ${PACKAGE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/deep_gemmConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/deep_gemmConfig.cmake
  ${PROJECT_BINARY_DIR}/deep_gemmConfigVersion.cmake DESTINATION ${PACKAGE_DIR})

configure_file(${PROJECT_SOURCE_DIR}/packaging/deep_gemm.pc.in
  ${PROJECT_BINARY_DIR}/deep_gemm.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/deep_gemm.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
