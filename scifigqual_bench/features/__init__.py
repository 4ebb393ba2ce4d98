"""Image (and caption) -> sidecar features: image statistics, text in the image, overlap with the caption."""
