#if LineEditing
    import CEdit

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #else
        import Darwin
    #endif

    /// The file of a history, to which several shells may append concurrently.
    ///
    /// It has the format of libedit, and only its owner can read it. Each entry is appended under a
    /// lock as soon as it is entered.
    struct HistoryFile {
        let path: String

        /// Maximum number of entries that are loaded.
        static let maximumCount = 5_000
        /// Length from which loading removes the oldest entries from the file.
        private static let maximumLength = 4 << 20
        private static let mode: mode_t = 0o600
        /// Maximum number of attempts to lock a file that another shell replaces.
        private static let maximumAttempts = 8

        /// Adds the entries of the file to a history; returns a message if it cannot be read.
        func load(into list: OpaquePointer) -> String? {
            guard access(path, F_OK) == 0 else {
                let directory = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
                Self.createDirectories(directory.isEmpty ? "/" : directory)
                return nil
            }
            // Another program may have created it with a mode that lets others read it.
            _ = chmod(path, Self.mode)
            guard sheaf_history_set_text(list, H_LOAD, path) >= 0 else {
                var status = stat()
                // A shell killed before its first write leaves an empty file.
                if stat(path, &status) == 0, status.st_size == 0 { return nil }
                return "the history \(path) cannot be read: it is not a history file of libedit"
            }
            shortenIfLong()
            return nil
        }

        /// Appends an entry; returns a message if it cannot be written.
        func append(_ entry: String) -> String? {
            guard let file = openLocked() else { return failure }
            // Closing the file also releases the lock.
            defer { fclose(file) }
            // libedit writes the header of its format only at position 0.
            guard fseek(file, 0, SEEK_END) == 0, let single = history_init() else { return failure }
            defer { history_end(single) }
            guard sheaf_history_set_number(single, H_SETSIZE, 1) >= 0,
                sheaf_history_set_text(single, H_ENTER, entry) >= 0,
                sheaf_history_save(single, file) >= 0, fflush(file) == 0
            else { return failure }
            return nil
        }

        private var failure: String {
            "the history \(path) cannot be written: \(String(cString: strerror(errno)))"
        }

        /// Opens the file and locks it; tries again if another shell has replaced it in between.
        private func openLocked() -> UnsafeMutablePointer<FILE>? {
            for _ in 0..<Self.maximumAttempts {
                let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, Self.mode)
                guard descriptor >= 0 else { return nil }
                while flock(descriptor, LOCK_EX) != 0, errno == EINTR {}
                var (opened, named) = (stat(), stat())
                if fstat(descriptor, &opened) == 0, stat(path, &named) == 0,
                    opened.st_ino == named.st_ino
                {
                    guard let file = fdopen(descriptor, "r+") else {
                        close(descriptor)
                        return nil
                    }
                    return file
                }
                close(descriptor)
            }
            return nil
        }

        /// Removes the oldest entries of a long file.
        private func shortenIfLong() {
            var status = stat()
            guard stat(path, &status) == 0, status.st_size > Self.maximumLength,
                let locked = openLocked()
            else { return }
            defer { fclose(locked) }
            // Other shells may have added entries before the lock was taken.
            guard let list = history_init() else { return }
            defer { history_end(list) }
            guard sheaf_history_set_number(list, H_SETSIZE, Int32(Self.maximumCount)) >= 0,
                sheaf_history_set_text(list, H_LOAD, path) >= 0
            else { return }
            let temporary = "\(path).\(getpid())"
            let descriptor = open(
                temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, Self.mode)
            guard descriptor >= 0 else { return }
            guard let file = fdopen(descriptor, "w") else {
                close(descriptor)
                unlink(temporary)
                return
            }
            let isSaved = sheaf_history_save(list, file) >= 0
            guard fclose(file) == 0, isSaved, rename(temporary, path) == 0 else {
                unlink(temporary)
                return
            }
        }

        private static func createDirectories(_ path: String) {
            guard access(path, F_OK) != 0 else { return }
            if let slash = path.lastIndex(of: "/"), slash != path.startIndex {
                createDirectories(String(path[..<slash]))
            }
            mkdir(path, 0o700)
        }
    }
#endif
