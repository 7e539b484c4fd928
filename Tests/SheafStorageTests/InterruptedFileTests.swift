import SheafStorage
import SheafTestSupport
import Synchronization
import Testing

/// Calls of files that signals interrupt, or that transfer fewer bytes than requested.
@Suite struct InterruptedFileTests {
    @Test(arguments: [0, 1, 999])
    func `reads and writes continue after fewer than 1000 interruptions without progress`(
        interruptions: Int
    ) throws {
        // Each part of three bytes is preceded by this number of interruptions.
        let file = InterruptedFile(interruptions: interruptions, part: 3)
        try file.writeFully([1, 2, 3, 4, 5, 6, 7], at: 2)
        #expect(file.bytes == [0, 0, 1, 2, 3, 4, 5, 6, 7])
        #expect(file.calls == 3 * (interruptions + 1))
        #expect(try file.readFully(5, at: 3) == [2, 3, 4, 5, 6])
        #expect(file.calls == 5 * (interruptions + 1))
        try file.synchronize()
        #expect(file.calls == 6 * (interruptions + 1))
    }

    @Test func `the 1000th interruption without progress is an error`() throws {
        let file = InterruptedFile(interruptions: .max, part: 3)
        #expect(throws: VolumeError(.write, "file", .interrupted)) {
            try file.writeFully([1], at: 0)
        }
        #expect(file.calls == 1_000)
        // The count of interruptions starts anew with each call.
        #expect(throws: VolumeError(.read, "file", .interrupted)) {
            _ = try file.readFully(1, at: 0)
        }
        #expect(file.calls == 2_000)
        #expect(throws: VolumeError(.synchronize, "file", .interrupted)) { try file.synchronize() }
        #expect(file.calls == 3_000)
    }

    @Test func `other errors end a call at once`() {
        let file = InterruptedFile(interruptions: .max, part: 3, code: .inputOutput)
        #expect(throws: VolumeError(.write, "file", .inputOutput)) {
            try file.writeFully([1], at: 0)
        }
        #expect(throws: VolumeError(.read, "file", .inputOutput)) {
            _ = try file.readFully(1, at: 0)
        }
        #expect(throws: VolumeError(.synchronize, "file", .inputOutput)) { try file.synchronize() }
        #expect(file.calls == 3)
    }

    @Test func `a file that ends too early, or takes no bytes, is an error`() throws {
        let file = InterruptedFile(interruptions: 0, part: 3)
        try file.writeFully([1, 2, 3, 4], at: 0)
        #expect(try file.readFully(4, at: 0) == [1, 2, 3, 4])
        #expect(try file.readFully(0, at: 9) == [])
        #expect(throws: VolumeError(.read, "file", .unexpectedEnd)) {
            _ = try file.readFully(5, at: 0)
        }
        let full = InterruptedFile(interruptions: 0, part: 0)
        #expect(throws: VolumeError(.write, "file", .noProgress)) {
            try full.writeFully([1], at: 0)
        }
        try full.writeFully([], at: 0)
    }

    @Test func `a file is read as a whole up to a limit`() throws {
        let file = InterruptedFile(interruptions: 2, part: 3)
        try file.writeFully([1, 2, 3, 4], at: 0)
        #expect(try file.readAll(limit: 4) == [1, 2, 3, 4])
        #expect(throws: VolumeError(.read, "file", .tooLarge)) { _ = try file.readAll(limit: 3) }
        #expect(try InterruptedFile(interruptions: 0, part: 3).readAll(limit: 0) == [])
    }

    @Test func `a volume without directories has none, and shares no files`() throws {
        let volume = PlainVolume()
        #expect(try volume.directory("new", creating: false) == nil)
        #expect(throws: VolumeError(.create, "new", .noDirectories)) {
            _ = try volume.directory("new", creating: true)
        }
        #expect(throws: VolumeError(.remove, "old", .noDirectories)) {
            try volume.removeDirectory("old")
        }
        #expect(try !volume.share("file", from: volume))
        #expect(!volume.isInstant && volume.watch("file") == nil)
        #expect(volume.identity == 0 && volume.systemIdentity == 0)
        #expect(try volume.identity(of: "file") == 0)
    }
}

/// A file in memory whose calls are interrupted, and transfer a few bytes.
private final class InterruptedFile: VolumeFile {
    private struct State {
        var bytes: [UInt8] = []
        var calls = 0
        /// The number of interruptions before the next transfer.
        var left: Int
    }

    let name = "file"
    private let interruptions: Int
    private let part: Int
    private let code: VolumeError.Code
    private let state: Mutex<State>

    init(interruptions: Int, part: Int, code: VolumeError.Code = .interrupted) {
        (self.interruptions, self.part, self.code) = (interruptions, part, code)
        state = Mutex(State(left: interruptions))
    }

    var bytes: [UInt8] { state.withLock { $0.bytes } }
    /// The number of calls that may be interrupted.
    var calls: Int { state.withLock { $0.calls } }

    private func interrupt(_ operation: VolumeError.Operation) throws(VolumeError) {
        let isInterrupted = state.withLock { state in
            state.calls += 1
            guard state.left > 0 else {
                state.left = interruptions
                return false
            }
            state.left -= 1
            return true
        }
        if isInterrupted { throw VolumeError(operation, name, code) }
    }

    func size() throws(VolumeError) -> Int { bytes.count }

    func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(VolumeError) -> Int {
        try interrupt(.read)
        let found = bytes.dropFirst(offset).prefix(min(part, buffer.count))
        buffer.copyBytes(from: found)
        return found.count
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(VolumeError) -> Int {
        try interrupt(.write)
        let written = Array(bytes.prefix(part))
        state.withLock { state in
            let end = offset + written.count
            let missing = max(end - state.bytes.count, 0)
            state.bytes += [UInt8](repeating: 0, count: missing)
            state.bytes.replaceSubrange(offset..<end, with: written)
        }
        return written.count
    }

    func synchronizeOnce() throws(VolumeError) { try interrupt(.synchronize) }

    func truncate(to size: Int) throws(VolumeError) {}

    func map(length: Int, _ mode: MappingMode) throws(VolumeError) -> FileMapping {
        throw VolumeError(.map, name, .inputOutput)
    }

    func close() {}
}

/// A volume with nothing but what every volume must have.
private final class PlainVolume: Volume {
    let path = "plain"

    func names() throws(VolumeError) -> [String] { [] }

    func open(_ name: String, _ access: FileAccess) throws(VolumeError) -> any VolumeFile {
        throw VolumeError(.open, name, .noSuchFile)
    }

    func rename(_ name: String, to newName: String) throws(VolumeError) {}
    func remove(_ name: String) throws(VolumeError) {}
    func synchronizeNamesOnce() throws(VolumeError) {}
    func lock() throws(VolumeError) -> LockOutcome { .held(by: nil) }
}
