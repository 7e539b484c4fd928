import SheafBytes

/// The temporary directory of a backup, next to its target, locked until it gets its final name.
///
/// ```
/// NAME.0123456789abcdef.unfinished   --rename, after everything is durable and verified-->   NAME
/// ```
/// The lock ends with the process, so one that can be locked is left over from a crash.
struct UnfinishedBackup {
    private static let suffix = ".unfinished"
    private static let randomDigits = 16
    /// The number of random names to try.
    private static let maximumAttempts = 16

    let volume: any Volume
    private let name: String
    private let target: BackupTarget
    private let lock: any VolumeLock

    /// Creates the directory and locks it.
    init(for target: BackupTarget, random: () -> UInt64) throws(StorageError) {
        for _ in 0..<Self.maximumAttempts {
            let digits = String(random(), radix: 16)
            let name =
                target.name + "."
                + String(repeating: "0", count: Self.randomDigits - digits.count) + digits
                + Self.suffix
            guard let made = try Self.make(name, in: target.parent) else { continue }
            (volume, lock) = made
            self.name = name
            self.target = target
            return
        }
        throw .refused(
            "another backup removed the directory of this one \(Self.maximumAttempts) times; "
                + "try again")
    }

    /// Creates a locked directory; nil if the name is taken, or another backup removes it.
    private static func make(
        _ name: String, in parent: any Volume
    ) throws(StorageError) -> (volume: any Volume, lock: any VolumeLock)? {
        try translatingErrors { () throws(VolumeError) in
            guard try !parent.names().contains(name) else { return nil }
            do throws(VolumeError) {
                guard let volume = try parent.directory(name, creating: true) else { return nil }
                guard case .acquired(let lock) = try volume.lock() else { return nil }
                // Another backup may have removed the directory before it was locked.
                let found = try parent.directory(name, creating: false)
                guard let found, found.identity == volume.identity else { return nil }
                return (volume, lock)
            } catch  where error.code == .noSuchFile && error.operation != .create {
                return nil
            } catch {
                try? parent.removeDirectory(name)
                throw error
            }
        }
    }

    /// Gives the complete and durable directory its final name, durably.
    ///
    /// The rename replaces an empty directory only: the first of two backups to a name has it.
    func publish() throws(StorageError) {
        let parent = target.parent
        do throws(VolumeError) { try parent.rename(name, to: target.name) } catch {
            guard [.notEmpty, .exists, .notADirectory].contains(error.code) else {
                throw StorageError(error)
            }
            let path = target.path.shortened(to: ErrorText.limit)
            throw .refused(
                "another backup or program created \(path) during this backup; \(path) is "
                    + "unchanged, and this copy was removed: back up to another name")
        }
        try translatingErrors { () throws(VolumeError) in
            do throws(VolumeError) { try parent.synchronizeNames() } catch {
                // A name that may not be durable is undone.
                try? parent.rename(target.name, to: name)
                throw error
            }
        }
        lock.release()
    }

    /// Removes the directory after an error, as far as possible.
    func discard() {
        Self.remove(name, volume, in: target.parent)
        lock.release()
    }

    /// Removes the directories of crashed backups, as far as possible; those in use are kept.
    static func removeLeftovers(in parent: any Volume) throws(StorageError) {
        let names = try translatingErrors { () throws(VolumeError) in try parent.names() }
        for name in names where isUnfinished(name) {
            guard let volume = (try? parent.directory(name, creating: false)) ?? nil,
                case .acquired(let lock)? = try? volume.lock()
            else { continue }
            remove(name, volume, in: parent)
            lock.release()
        }
    }

    /// Whether a name has the form of a temporary directory.
    private static func isUnfinished(_ name: String) -> Bool {
        guard name.hasSuffix(suffix) else { return false }
        let parts = name.dropLast(suffix.count).split(
            separator: ".", omittingEmptySubsequences: false)
        guard parts.count >= 2, let digits = parts.last, digits.utf8.count == randomDigits else {
            return false
        }
        return digits.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    }

    /// Removes a directory with the files of a store; anything else in it is kept.
    private static func remove(_ name: String, _ volume: any Volume, in parent: any Volume) {
        for file in (try? volume.names()) ?? [] {
            switch FileName(file) {
            case .foreign: break
            case .attachments:
                guard let inner = (try? volume.directory(file, creating: false)) ?? nil else {
                    continue
                }
                for attachment in (try? inner.names()) ?? [] { try? inner.remove(attachment) }
                try? volume.removeDirectory(file)
            default: try? volume.remove(file)
            }
        }
        try? parent.removeDirectory(name)
        try? parent.synchronizeNames()
    }
}
