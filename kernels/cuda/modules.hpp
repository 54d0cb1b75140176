#pragma once

/// The kernels of each source file are a module of their own. CUDA loads a kernel when it is first launched, and may
/// then wait for all streams. If one of them is held until a call ends that needs this kernel, neither ends. So all
/// kernels are loaded before a stream is held.
namespace lacuna::kernels {

/// Notes a kernel of a module. Returns true.
bool note_module(const void* kernel);

/// Loads all kernels of all noted modules for the current device. Throws std::runtime_error if the driver can't.
void load_modules();

}  // namespace lacuna::kernels
