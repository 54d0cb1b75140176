#pragma once

/// The state of an experiment. It has nothing to do with lacuna's Status.
enum class Status { Planned, Done };
