import SheafSystem
import Synchronization

/// An in-memory volume, discarded with its last reference; every lock of it is exclusive.
package final class MemoryVolume: Volume {
    private struct State: Sendable {
        var files: [String: MemoryFile.Content] = [:]
        var directories: [String: MemoryVolume] = [:]
        var isLocked = false
    }

    private let state = Mutex(State())
    package let path = "(memory)"
    package let isInstant = true

    package init() {}

    package func names() throws(VolumeError) -> [String] {
        state.withLock { Array($0.files.keys) + Array($0.directories.keys) }
    }

    package func open(_ name: String, _ access: FileAccess) throws(VolumeError) -> any VolumeFile {
        let content: MemoryFile.Content? = state.withLock { state in
            guard access == .create else { return state.files[name] }
            guard state.files[name] == nil else { return nil }
            let content = MemoryFile.Content()
            state.files[name] = content
            return content
        }
        guard let content else {
            throw access == .create
                ? VolumeError(.create, name, .exists) : VolumeError(.open, name, .noSuchFile)
        }
        return MemoryFile(name: name, content)
    }

    package func rename(_ name: String, to newName: String) throws(VolumeError) {
        let exists = state.withLock { state in
            guard let content = state.files.removeValue(forKey: name) else { return false }
            state.files[newName] = content
            return true
        }
        guard exists else { throw VolumeError(.rename, name, .noSuchFile) }
    }

    package func remove(_ name: String) throws(VolumeError) {
        let exists = state.withLock { $0.files.removeValue(forKey: name) != nil }
        guard exists else { throw VolumeError(.remove, name, .noSuchFile) }
    }

    package func synchronizeNamesOnce() throws(VolumeError) {}

    package func directory(
        _ name: String, creating: Bool
    ) throws(VolumeError) -> (any Volume)? {
        state.withLock { state in
            if creating, state.directories[name] == nil {
                state.directories[name] = MemoryVolume()
            }
            return state.directories[name]
        }
    }

    package func lock() throws(VolumeError) -> LockOutcome {
        let isFree = state.withLock { state in
            defer { state.isLocked = true }
            return !state.isLocked
        }
        guard isFree else { return .held(by: OperatingSystem.processIdentifier) }
        return .acquired(MemoryLock { [weak self] in self?.state.withLock { $0.isLocked = false } })
    }
}

/// The lock of an in-memory volume.
private final class MemoryLock: VolumeLock {
    private let unlock: Mutex<(@Sendable () -> Void)?>

    init(_ unlock: @escaping @Sendable () -> Void) {
        self.unlock = Mutex(unlock)
    }

    func release() {
        let unlock = unlock.withLock { unlock in
            defer { unlock = nil }
            return unlock
        }
        unlock?()
    }
}
