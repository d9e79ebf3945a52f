"""What a project's folder holds: files, manifest, secrets and sources."""
