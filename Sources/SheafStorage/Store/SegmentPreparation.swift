import SheafBytes
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

    /// The length of the first slice of zeros, and that of the longest one.
    private static let sliceLength = 32 << 10
    private static let longestSlice = 256 << 10
    /// The length of zeros written to the first segment after opening, in a single slice.
    ///
    /// The first commit waits a few milliseconds for it, and thousands of later commits become
    /// faster.
    private static let firstLength = 1 << 20

    private let volume: any Volume
    private let clock: Clock
    private struct State: Sendable {
        var phase = Phase.idle
        /// The last segment requested by the writer.
        ///
        /// Records of later segments may be pending; a prepared file is that of the next segment.
        var lastRequested: UInt32 = 0
        /// The segment whose file could be neither completed nor removed.
        var leftover: UInt32?
    }

    private let state = Monitor(State())

    init(volume: any Volume, clock: Clock) {
        self.volume = volume
        self.clock = clock
    }

    /// The last segment whose file the writer has requested; zero before the first.
    var lastRequested: UInt32 {
        state.withLock { $0.lastRequested }
    }

    /// Creates the file of the segment after the one in use, and fills it with `length` zeros.
    ///
    /// Does nothing before the first segment is in use, while a preparation is running, or if the
    /// file is already prepared.
    func prepareNext(length: Int) throws(VolumeError) {
        let next = state.withLock { state -> UInt32? in
            // The first segment is created on demand, because many openings only read.
            guard case .idle = state.phase, state.lastRequested > 0 else { return nil }
            let next = state.lastRequested + 1
            state.phase = .running(next)
            return next
        }
        guard let next else { return }
        var file: (any VolumeFile)?
        defer {
            let phase = file.map { Phase.ready(next, $0) } ?? .idle
            state.withLock { $0.phase = phase }
            state.broadcast()
        }
        file = try make(next, length: length, slice: Self.sliceLength)
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

    /// Renames a staged file to segment `number`, replacing a prepared one.
    func rename(_ file: StagedRecords.File, toSegment number: UInt32) throws(VolumeError) {
        state.withLock { state in
            state.lastRequested = number
            if case .running(let running) = state.phase { state.phase = .hurried(running) }
        }
        removePrepared(number)?.close()
        try file.truncateToRecords()
        try volume.rename(file.volumeFile.name, to: FileName.name(ofSegment: number))
        file.markAsSegment()
        try volume.synchronizeNames()
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
        if state.withLock({ $0.leftover == number }) {
            try volume.remove(name)
            state.withLock { $0.leftover = nil }
        }
        let file = try volume.open(name, .create)
        do throws(VolumeError) {
            try fill(file, length: length, slice: slice)
            try volume.synchronizeNames()
            return file
        } catch {
            file.close()
            // A file that stays would prevent the creation of the segment.
            do throws(VolumeError) { try volume.remove(name) } catch {
                state.withLock { $0.leftover = number }
            }
            throw error
        }
    }

    /// Fills a file with zeros; writes are synced in slices, because a commit may wait for each.
    ///
    /// A slice has a constant cost, several writes of metadata among them. So slices become longer
    /// while that cost dominates: a commit waits for at most about twice the shortest slice.
    private func fill(
        _ file: any VolumeFile, length: Int, slice first: Int
    ) throws(VolumeError) {
        let zeros = UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(min(max(first, Self.longestSlice), length), 1), alignment: 4_096)
        defer { zeros.deallocate() }
        zeros.fillWithZeros()
        var slice = first
        var shortest = UInt64.max
        var offset = 0
        while offset < length, !isHurried {
            let start = clock.monotonicNanoseconds()
            let count = min(slice, zeros.count, length - offset)
            try file.writeFully(UnsafeRawBufferPointer(zeros).slice(0..<count), at: offset)
            try file.synchronize()
            offset += count
            let duration = clock.monotonicNanoseconds() &- start
            shortest = min(shortest, max(duration, 1))
            if duration < shortest + shortest / 2 {
                slice = min(slice * 2, Self.longestSlice)
            } else if duration / 2 > shortest {
                slice = max(slice / 2, Self.sliceLength)
            }
        }
    }

    private var isHurried: Bool {
        state.withLock { state in
            if case .hurried = state.phase { return true }
            return false
        }
    }
}
