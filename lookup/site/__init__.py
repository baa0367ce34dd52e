"""The explorer as a folder of files that any web server can host: no server of ours is needed."""
