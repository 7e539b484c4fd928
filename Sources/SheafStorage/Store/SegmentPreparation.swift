import SheafSystem

/// The next segment's file, created and filled with zeros before it is needed.
///
/// Flushing into allocated blocks costs half of a flush that grows the file.
final class SegmentPreparation: Sendable {
    private enum Phase: Sendable {
        case idle
        case running(UInt32)
        /// The writer waits for the file, however far it is filled.
        case hurried(UInt32)
        case ready(UInt32, any VolumeFile)
    }

    private static let sliceLength = 32 << 10
    /// The length of zeros written to the first segment after opening, in a single slice.
    ///
    /// The first commit waits a few milliseconds for it, and thousands of later commits become
    /// faster.
    private static let firstLength = 1 << 20

    private let volume: any Volume
    private struct State: Sendable {
        var phase = Phase.idle
        /// The last segment requested by the writer; it and all earlier ones need no preparation.
        var lastRequested: UInt32 = 0
    }

    private let state = Monitor(State())

    init(volume: any Volume) {
        self.volume = volume
    }

    /// Creates the file of segment `number` and fills it with `length` zeros.
    ///
    /// Does nothing if a preparation is running, the file is already prepared, or the writer has
    /// already requested the segment.
    func prepare(_ number: UInt32, length: Int) throws(VolumeError) {
        let (isDue, outdated) = state.withLock { state -> (Bool, (any VolumeFile)?) in
            guard number > state.lastRequested else { return (false, nil) }
            switch state.phase {
            case .ready(number, _), .running, .hurried:
                return (false, nil)
            case .ready(_, let other):
                state.phase = .running(number)
                return (true, other)
            case .idle:
                state.phase = .running(number)
                return (true, nil)
            }
        }
        guard isDue else { return }
        var file: (any VolumeFile)?
        defer {
            let phase = file.map { Phase.ready(number, $0) } ?? .idle
            state.withLock { $0.phase = phase }
            state.broadcast()
        }
        if let outdated { try remove(outdated) }
        file = try make(number, length: length, slice: Self.sliceLength)
    }

    /// Returns the file of segment `number`, waiting for a preparation in progress.
    ///
    /// Without a prepared file it creates one. Only the first after opening is then filled with up
    /// to `length` zeros, because a writer waits meanwhile.
    func file(_ number: UInt32, length: Int) throws(VolumeError) -> any VolumeFile {
        let isFirst = state.withLock { state in
            // Once this is set, no other thread creates the file.
            defer { state.lastRequested = number }
            if case .running(let running) = state.phase { state.phase = .hurried(running) }
            return state.lastRequested == 0
        }
        if let prepared = removePrepared(number) { return prepared }
        let prepared = isFirst ? min(length, Self.firstLength) : 0
        return try make(number, length: prepared, slice: Self.firstLength)
    }

    private func removePrepared(_ number: UInt32) -> (any VolumeFile)? {
        state.wait(
            while: { state in
                switch state.phase {
                case .running, .hurried: true
                case .idle, .ready: false
                }
            },
            then: { state in
                guard case .ready(number, let file) = state.phase else { return nil }
                state.phase = .idle
                return file
            })
    }

    /// Removes a prepared file that is not needed.
    func discard() throws(VolumeError) {
        let unused = state.withLock { state -> (any VolumeFile)? in
            guard case .ready(_, let file) = state.phase else { return nil }
            state.phase = .idle
            return file
        }
        if let unused { try remove(unused) }
    }

    private func remove(_ file: any VolumeFile) throws(VolumeError) {
        file.close()
        try volume.remove(file.name)
    }

    private func make(
        _ number: UInt32, length: Int, slice: Int
    ) throws(VolumeError) -> any VolumeFile {
        let name = FileName.name(ofSegment: number)
        let file = try volume.open(name, .create)
        do throws(VolumeError) {
            try fill(file, length: length, slice: slice)
            try volume.synchronizeNames()
            return file
        } catch {
            file.close()
            try? volume.remove(name)
            throw error
        }
    }

    private func fill(
        _ file: any VolumeFile, length: Int, slice: Int
    ) throws(VolumeError) {
        let zeros = UnsafeMutableRawBufferPointer.allocate(
            byteCount: min(slice, max(length, 1)), alignment: 4_096)
        defer { zeros.deallocate() }
        zeros.initializeMemory(as: UInt8.self, repeating: 0)
        var offset = 0
        while offset < length, !isHurried {
            let slice = UnsafeRawBufferPointer(
                rebasing: UnsafeRawBufferPointer(zeros)[..<min(zeros.count, length - offset)])
            try file.writeFully(slice, at: offset)
            // The file is synced in slices, so that a commit never waits for the complete segment.
            try file.synchronize()
            offset += slice.count
        }
    }

    private var isHurried: Bool {
        state.withLock { state in
            if case .hurried = state.phase { return true }
            return false
        }
    }
}
