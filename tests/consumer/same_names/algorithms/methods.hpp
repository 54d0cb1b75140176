#pragma once

/// How this program integrates.
inline const char* const methods[] = {"euler", "runge_kutta"};
