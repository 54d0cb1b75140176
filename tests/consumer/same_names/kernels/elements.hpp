#pragma once

/// The elements of a mesh.
struct Elements {
  int triangles = 0;
};
