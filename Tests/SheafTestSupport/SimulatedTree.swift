package import SheafStorage
import Synchronization

/// A simulated directory with subdirectories, on a machine whose power fails at a chosen call.
///
/// Each directory is a simulated volume. The entry of a subdirectory is a durable file that names
/// the volume, so that a power cut keeps or loses it like any other name.
package final class SimulatedTree: Volume {
    /// The state that all directories share.
    private struct Machine: Sendable {
        var isOff = false
        var changes = 0
        var calls = 0
        var crashCall = Int.max
        var fault: (call: Int, code: VolumeError.Code)?
        var lastID: UInt64 = 0
    }

    private enum Outcome {
        case proceed, crash, off
        case fail(VolumeError.Code)
    }

    private final class Shared: Sendable {
        let state = Mutex(Machine())
    }

    private static let magic: [UInt8] = Array("DIRECTORY".utf8)

    package let path = "tree"
    private let shared: Shared
    private let files: SimulatedVolume
    private let children = Mutex<[UInt64: SimulatedTree]>([:])

    /// Creates an empty tree.
    package convenience init(seed: UInt64 = 0) {
        self.init(Shared(), SimulatedVolume(seed: seed))
    }

    private init(_ shared: Shared, _ files: SimulatedVolume) {
        self.shared = shared
        self.files = files
    }

    package var identity: UInt64 { files.identity }

    /// Cuts the power at the `call`th call that changes the disk, counted from one.
    package func crashAtCall(_ call: Int) {
        shared.state.withLock { $0.crashCall = call }
    }

    /// Fails the `call`th call, counted from one.
    package func failAtCall(_ call: Int, _ code: VolumeError.Code) {
        shared.state.withLock { $0.fault = (call, code) }
    }

    /// Removes the fault.
    package func removeFault() {
        shared.state.withLock { $0.fault = nil }
    }

    /// Whether the power cut has occurred.
    package var isPowerCut: Bool { shared.state.withLock { $0.isOff } }

    /// The number of calls so far.
    package var callCount: Int { shared.state.withLock { $0.calls } }

    /// Returns a new machine with one possible state of the disk after a power cut.
    package func powerCut(seed: UInt64) -> SimulatedTree {
        let next = Shared()
        let lastID = shared.state.withLock { $0.lastID }
        next.state.withLock { $0.lastID = lastID }
        return powerCut(seed: seed, next)
    }

    private func powerCut(seed: UInt64, _ next: Shared) -> SimulatedTree {
        let tree = SimulatedTree(next, files.powerCut(seed: seed))
        let children = children.withLock { $0 }
        for (id, child) in children {
            let after = child.powerCut(seed: seed &+ id &* 7_919, next)
            tree.children.withLock { $0[id] = after }
        }
        return tree
    }

    /// Performs a call, which may be the one that fails or at which the power is cut.
    fileprivate func call<Result>(
        _ operation: VolumeError.Operation, _ name: String, isChange: Bool = true,
        isAtomic: Bool = false, _ body: () throws(VolumeError) -> Result
    ) throws(VolumeError) -> Result {
        let outcome = shared.state.withLock { machine -> Outcome in
            guard !machine.isOff else { return .off }
            machine.calls += 1
            if let fault = machine.fault, fault.call == machine.calls { return .fail(fault.code) }
            guard isChange else { return .proceed }
            machine.changes += 1
            guard machine.changes == machine.crashCall else { return .proceed }
            machine.isOff = true
            return .crash
        }
        switch outcome {
        case .proceed: return try body()
        case .off: throw VolumeError(operation, name, .powerCut)
        case .fail(let code): throw VolumeError(operation, name, code)
        case .crash:
            // Creating a directory takes several calls here, and has all of its effect or none.
            if !isAtomic { files.crashAtCall(files.counters.mutating) }
            _ = try body()
            throw VolumeError(operation, name, .powerCut)
        }
    }

    /// Returns the subdirectory of a name; nil if there is none.
    private func child(_ name: String) throws(VolumeError) -> SimulatedTree? {
        guard try files.names().contains(name) else { return nil }
        let file = try files.open(name, .read)
        defer { file.close() }
        guard try file.size() == Self.magic.count + 8 else { return nil }
        let bytes = try file.readAll(limit: 64)
        guard bytes.starts(with: Self.magic) else { return nil }
        let id = bytes.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return children.withLock { $0[id] }
    }

    package func names() throws(VolumeError) -> [String] {
        try call(.list, path, isChange: false) { () throws(VolumeError) in try files.names() }
    }

    package func open(_ name: String, _ access: FileAccess) throws(VolumeError) -> any VolumeFile {
        try call(access == .create ? .create : .open, name, isChange: access == .create) {
            () throws(VolumeError) in
            if access != .create, try child(name) != nil {
                throw VolumeError(.open, name, .notARegularFile)
            }
            return SimulatedTreeFile(try files.open(name, access), in: self)
        }
    }

    package func rename(_ name: String, to newName: String) throws(VolumeError) {
        try call(.rename, name) { () throws(VolumeError) in try files.rename(name, to: newName) }
    }

    package func remove(_ name: String) throws(VolumeError) {
        try call(.remove, name) { () throws(VolumeError) in
            guard try child(name) == nil else { throw VolumeError(.remove, name, .notARegularFile) }
            try files.remove(name)
        }
    }

    package func removeDirectory(_ name: String) throws(VolumeError) {
        try call(.remove, name) { () throws(VolumeError) in
            guard let child = try child(name), try child.files.names().isEmpty else {
                throw VolumeError(.remove, name, .exists)
            }
            try files.remove(name)
        }
    }

    package func synchronizeNamesOnce() throws(VolumeError) {
        try call(.synchronizeNames, path) { () throws(VolumeError) in
            try files.synchronizeNamesOnce()
        }
    }

    package func directory(
        _ name: String, creating: Bool
    ) throws(VolumeError) -> (any Volume)? {
        if let found = try child(name) { return found }
        guard try !files.names().contains(name) else {
            throw VolumeError(.open, name, .notADirectory)
        }
        guard creating else { return nil }
        let child = try call(.create, name, isAtomic: true) { () throws(VolumeError) in
            try makeChild(name)
        }
        try synchronizeNames()
        return child
    }

    private func makeChild(_ name: String) throws(VolumeError) -> SimulatedTree {
        let id = shared.state.withLock { machine in
            machine.lastID += 1
            return machine.lastID
        }
        let file = try files.open(name, .create)
        defer { file.close() }
        let bytes = Self.magic + (0..<8).map { UInt8(truncatingIfNeeded: id >> (56 - 8 * $0)) }
        try bytes.span.withUnsafeBytes { bytes throws(VolumeError) in
            try file.writeFully(bytes, at: 0)
        }
        try file.synchronize()
        let child = SimulatedTree(shared, SimulatedVolume(seed: id &* 31 &+ 5))
        children.withLock { $0[id] = child }
        return child
    }

    package func lock() throws(VolumeError) -> LockOutcome {
        try call(.lock, path, isChange: false) { () throws(VolumeError) in try files.lock() }
    }
}

/// A file whose calls count as those of its machine.
private final class SimulatedTreeFile: VolumeFile {
    private let file: any VolumeFile
    private let tree: SimulatedTree

    init(_ file: any VolumeFile, in tree: SimulatedTree) {
        self.file = file
        self.tree = tree
    }

    var name: String { file.name }

    func size() throws(VolumeError) -> Int {
        try tree.call(.size, name, isChange: false) { () throws(VolumeError) in try file.size() }
    }

    func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(VolumeError) -> Int {
        try tree.call(.read, name, isChange: false) { () throws(VolumeError) in
            try file.read(into: buffer, at: offset)
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(VolumeError) -> Int {
        try tree.call(.write, name) { () throws(VolumeError) in
            try file.write(bytes, at: offset)
        }
    }

    func synchronizeOnce() throws(VolumeError) {
        try tree.call(.synchronize, name) { () throws(VolumeError) in
            try file.synchronizeOnce()
        }
    }

    func truncate(to size: Int) throws(VolumeError) {
        try tree.call(.truncate, name) { () throws(VolumeError) in try file.truncate(to: size) }
    }

    func map(length: Int, _ mode: MappingMode) throws(VolumeError) -> FileMapping {
        try tree.call(.map, name, isChange: false) { () throws(VolumeError) in
            try file.map(length: length, mode)
        }
    }

    func close() {
        file.close()
    }
}
