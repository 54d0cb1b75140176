#pragma once

#include <cstddef>
#include <memory_resource>

namespace lacuna {

/// Returns memory for so many bytes, aligned to 64, that the other ranks of this host can map into their processes.
/// From LACUNA_MAPPED bytes on they read messages there, where they lie, so that inside a host no message of this
/// memory is copied on its way. Any buffer of any call may lie in it, and nothing else changes: the other buffer of a
/// call may be ordinary, and so may those of other ranks. Where the system gives no such memory, and beyond
/// LACUNA_MAPPABLE bytes, the memory is ordinary. What it holds is undefined. Its pages are taken now and belong to no
/// other process; after fork() both processes see the same pages, other than with ordinary memory. Returns null if
/// there is no memory. Thread rule: any thread.
void* allocate(std::size_t bytes) noexcept;

/// Gives back what allocate() has returned, once no call uses it any more. 256 MiB of such pages are kept for the next
/// time, and the others go back to the system. Null changes nothing. Thread rule: any thread.
void deallocate(void* memory) noexcept;

/// Returns the same memory as a resource of containers, such as
/// `std::pmr::vector<float> values(count, &lacuna::mappable_memory())`. It throws std::bad_alloc if there is none, and
/// also for an alignment of more than 64. Thread rule: any thread.
std::pmr::memory_resource& mappable_memory() noexcept;

}  // namespace lacuna
