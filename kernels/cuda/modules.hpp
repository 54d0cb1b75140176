#pragma once

/// The kernels of each source file are a module of their own. CUDA loads a kernel when it is first launched, and may
/// then wait for all streams. If one of them is held until a call ends that needs this kernel, neither ends. So all
/// kernels are loaded before a stream is held.
namespace lacuna::kernels {

/// Notes a module by any of its kernels. Returns true, so that the initialisation of a constant can call it.
bool note_module(const void* kernel);

/// Loads all kernels of all noted modules for the current device, unless an earlier call has done so. Throws
/// std::runtime_error if the driver can't. Thread rule: any thread.
void load_modules();

}  // namespace lacuna::kernels
