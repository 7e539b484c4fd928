package import SheafStorage
import Synchronization

/// A directory that contains nothing but one child directory.
package final class ParentVolume: Volume {
    package let path = "parent"
    private let child: any Volume
    private let isMade: Atomic<Bool>

    /// Creates the parent of `child`; the child exists only if `isMade` or once it is created.
    package init(_ child: any Volume, isMade: Bool) {
        self.child = child
        self.isMade = Atomic(isMade)
    }

    package func directory(
        _ name: String, creating: Bool
    ) throws(VolumeError) -> (any Volume)? {
        if creating { isMade.store(true, ordering: .relaxed) }
        return isMade.load(ordering: .relaxed) ? child : nil
    }

    package func names() throws(VolumeError) -> [String] { [] }

    package func open(_ name: String, _ access: FileAccess) throws(VolumeError) -> any VolumeFile {
        throw VolumeError(.open, name, .noSuchFile)
    }

    package func rename(_ name: String, to newName: String) throws(VolumeError) {
        throw VolumeError(.rename, name, .noSuchFile)
    }

    package func remove(_ name: String) throws(VolumeError) {
        throw VolumeError(.remove, name, .noSuchFile)
    }

    package func synchronizeNamesOnce() throws(VolumeError) {}

    package func lock() throws(VolumeError) -> LockOutcome { .held(by: nil) }
}
