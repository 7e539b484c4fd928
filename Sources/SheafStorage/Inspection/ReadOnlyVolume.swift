/// A volume that refuses all changes.
package final class ReadOnlyVolume: UnwritableVolume {
    package let base: any Volume

    package init(_ base: any Volume) {
        self.base = base
    }

    /// Opens the existing store at `path`.
    package static func open(at path: String) throws(StorageError) -> ReadOnlyVolume {
        let base: PosixVolume
        do throws(VolumeError) {
            base = try PosixVolume(path: path, creatingDirectory: false)
        } catch {
            guard [.noSuchFile, .notADirectory].contains(error.code) else {
                throw StorageError(error)
            }
            throw PosixPath.isRegularFile(path)
                ? .notADirectory(path: path) : .notAStore(path: path)
        }
        let names = try translatingErrors { () throws(VolumeError) in try base.names() }
        guard isStore(names) else { throw .notAStore(path: path) }
        return ReadOnlyVolume(base)
    }

    /// Whether a directory with these files is a store, possibly without commits.
    private static func isStore(_ names: [String]) -> Bool {
        var hasLock = false
        var hasForeign = false
        for name in names {
            switch FileName(name) {
            case .segment, .base, .checkpoint, .closedMark: return true
            case .lock: hasLock = true
            case .foreign: hasForeign = true
            case .synced, .temporary, .siteMark, .attachments: break
            }
        }
        // A store without commits has only its lock file, whose name other programs use, too.
        return hasLock && !hasForeign
    }

    package func names() throws(VolumeError) -> [String] {
        try base.names()
    }

    package func open(_ name: String, _ access: FileAccess) throws(VolumeError) -> any VolumeFile {
        guard access == .read else { throw refusal(.open, name) }
        return try base.open(name, .read)
    }
}
