"""Games as anybody can write them: one file each, with the public names of `lookup` alone."""
