import SheafBytes

/// The directory that a backup creates: a name in an existing parent directory.
package struct BackupTarget: Sendable {
    package let parent: any Volume
    package let name: String
    /// The path in messages.
    package let path: String

    /// Describes a directory `name` in `parent`.
    package init(parent: any Volume, name: String) {
        self.parent = parent
        self.name = name
        path = name
    }

    /// Opens the parent directory of `path`.
    ///
    /// Throws if the path is taken by something other than an empty directory, is in one of the
    /// directories `others`, or is one of them.
    package init(path: String, apartFrom others: [String]) throws(StorageError) {
        self.path = path
        (parent, name) = try Self.open(path)
        try Self.check(path, named: name, apartFrom: others)
    }

    private static func open(
        _ path: String
    ) throws(StorageError) -> (parent: any Volume, name: String) {
        var bytes = path.utf8[...]
        while bytes.count > 1, bytes.last == 0x2F { bytes.removeLast() }
        let name = String(decoding: bytes.split(separator: 0x2F).last ?? [], as: UTF8.self)
        guard !name.isEmpty, name != ".", name != "..", !path.utf8.contains(0) else {
            throw .refused(
                "'\(path.shortened(to: ErrorText.limit))' names no new directory; name one that "
                    + "does not exist")
        }
        bytes.removeLast(name.utf8.count)
        while bytes.count > 1, bytes.last == 0x2F { bytes.removeLast() }
        let directory = bytes.isEmpty ? "." : String(Substring(bytes))
        do throws(VolumeError) {
            return (try PosixVolume(path: directory, creatingDirectory: false), name)
        } catch {
            guard [.noSuchFile, .notADirectory].contains(error.code) else {
                throw StorageError(error)
            }
            throw .refused(
                "there is no directory \(directory.shortened(to: ErrorText.limit)) for "
                    + "\(name.shortened(to: ErrorText.limit)); create it first")
        }
    }

    private static func check(
        _ path: String, named name: String, apartFrom others: [String]
    ) throws(StorageError) {
        let text = path.shortened(to: ErrorText.limit)
        var bare = path
        while bare.utf8.count > 1, bare.utf8.last == 0x2F { bare.removeLast() }
        guard !PosixPath.isSymbolicLink(bare) else {
            throw .refused("\(text) is a symbolic link; name a directory that does not exist")
        }
        let parent = bare == name ? "." : String(bare.dropLast(name.count))
        guard let resolved = PosixPath.resolved(parent) else { return }
        let target = (resolved == "/" ? "" : resolved) + "/" + name
        for other in others {
            guard let directory = PosixPath.resolved(other) else { continue }
            let title = other.shortened(to: ErrorText.limit)
            guard target != directory else {
                throw .refused("\(text) is \(title) itself; name another directory")
            }
            guard !target.hasPrefix(directory + "/") else {
                throw .refused("\(text) is inside \(title); name a directory outside of it")
            }
        }
    }

    /// Throws if the name is taken by something other than an empty directory.
    func checkFree() throws(StorageError) {
        let entries = try translatingErrors { () throws(VolumeError) -> [String]? in
            guard try parent.names().contains(name) else { return [] }
            do throws(VolumeError) {
                return try parent.directory(name, creating: false)?.names()
            } catch  where error.code == .notADirectory {
                return nil
            }
        }
        guard let entries else {
            throw .refused(
                "\(path.shortened(to: ErrorText.limit)) is not a directory; name one that does "
                    + "not exist")
        }
        guard entries.isEmpty else { throw .notEmpty(path: path) }
    }
}
