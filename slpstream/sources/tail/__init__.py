"""Follow the files of a folder while they are being written.

If you iterate over a `FolderTail`, it finds the files below a folder, reads them as they grow, and yields `TailEvent`s.
This works with polling alone, but if you use a `Watcher`, you also get notifications, and then it reacts within
milliseconds. The package doesn't care about the meaning of the bytes.
"""
