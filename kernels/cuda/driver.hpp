#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

/// Functions of the CUDA driver that the CUDA runtime lacks. They are looked for when they are needed, so that nothing
/// is linked with the driver.
namespace lacuna::kernels {

/// Throws std::runtime_error that names the call if it has failed.
inline void must(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  throw std::runtime_error(std::string(call) + ": " + cudaGetErrorName(error) + ", " + cudaGetErrorString(error));
}
inline void must(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  throw std::runtime_error(std::string(call) + ": error " + std::to_string(static_cast<int>(result)) +
                           " of the CUDA driver");
}

/// Returns a function that the driver has since this version of CUDA, for instance 12040. Throws std::runtime_error if
/// it is older.
template <class Function>
Function driver_function(const char* name, unsigned int since) {
  void* found = nullptr;
#if CUDART_VERSION >= 12050
  cudaDriverEntryPointQueryResult how = cudaDriverEntryPointSymbolNotFound;
  must(cudaGetDriverEntryPointByVersion(name, &found, since, cudaEnableDefault, &how),
       "cudaGetDriverEntryPointByVersion");
#else
  must(cudaGetDriverEntryPoint(name, &found, cudaEnableDefault), "cudaGetDriverEntryPoint");
#endif
  if (found != nullptr) return reinterpret_cast<Function>(found);
  throw std::runtime_error(std::string("the CUDA driver has no ") + name + ", which CUDA " +
                           std::to_string(since / 1000) + "." + std::to_string(since % 1000 / 10) + " has");
}

}  // namespace lacuna::kernels
