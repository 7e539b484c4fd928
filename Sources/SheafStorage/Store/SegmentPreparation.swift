/// The file of the next segment, made ahead of use.
///
/// A flush into blocks that were written before costs half of one that makes the file grow, so
/// the file is filled with zeros while the segment before it is in use.
final class SegmentPreparation: Sendable {
    private enum Phase: Sendable {
        case idle
        case running(UInt32)
        /// The writer wants the file as it is.
        case hurried(UInt32)
        case ready(UInt32, any VolumeFile)
    }

    private static let sliceLength = 32 << 10
    /// A writer in a hurry still gets this much: it takes a few milliseconds once, and saves as
    /// many with every dozen commits that follow.
    private static let hurriedLength = 1 << 20

    private let volume: any Volume
    private let phase = Monitor<Phase>(.idle)

    init(volume: any Volume) {
        self.volume = volume
    }

    /// Whether the file of segment `number` has still to be made.
    func isDue(_ number: UInt32) -> Bool {
        phase.withLock { phase in
            if case .ready(let ready, _) = phase { return ready != number }
            if case .idle = phase { return true }
            return false
        }
    }

    /// Makes the file of segment `number`, with `length` zeros in it, for whoever takes it.
    func prepare(_ number: UInt32, length: Int) throws(VolumeError) {
        try discard()
        phase.withLock { $0 = .running(number) }
        var file: (any VolumeFile)?
        defer {
            let phaseNow = file.map { Phase.ready(number, $0) } ?? .idle
            phase.withLock { $0 = phaseNow }
            phase.broadcast()
        }
        file = try make(number, length: length)
    }

    /// The file of segment `number`: the one that was prepared, or is being prepared, or a new one
    /// with at most `length` zeros in it.
    func take(_ number: UInt32, length: Int) throws(VolumeError) -> any VolumeFile {
        if let prepared = takePrepared(number) { return prepared }
        return try make(number, length: min(length, Self.hurriedLength))
    }

    private func takePrepared(_ number: UInt32) -> (any VolumeFile)? {
        phase.withLock { phase in
            if case .running(let running) = phase { phase = .hurried(running) }
        }
        return phase.wait(
            while: { phase in
                switch phase {
                case .running, .hurried: true
                case .idle, .ready: false
                }
            },
            then: { phase in
                guard case .ready(number, let file) = phase else { return nil }
                phase = .idle
                return file
            })
    }

    /// Removes a file that was prepared and is not needed.
    func discard() throws(VolumeError) {
        let unused = phase.withLock { phase -> (any VolumeFile)? in
            guard case .ready(_, let file) = phase else { return nil }
            phase = .idle
            return file
        }
        guard let unused else { return }
        unused.close()
        try volume.remove(unused.name)
    }

    private func make(_ number: UInt32, length: Int) throws(VolumeError) -> any VolumeFile {
        let name = FileName.name(ofSegment: number)
        let file = try volume.open(name, .create)
        do throws(VolumeError) {
            try fill(file, length: length)
            try volume.synchronizeNames()
            return file
        } catch {
            file.close()
            try? volume.remove(name)
            throw error
        }
    }

    private func fill(_ file: any VolumeFile, length: Int) throws(VolumeError) {
        let zeros = UnsafeMutableRawBufferPointer.allocate(
            byteCount: min(Self.sliceLength, max(length, 1)), alignment: 4_096)
        defer { zeros.deallocate() }
        zeros.initializeMemory(as: UInt8.self, repeating: 0)
        var offset = 0
        while offset < length, offset < Self.hurriedLength || !isHurried {
            let slice = UnsafeRawBufferPointer(
                rebasing: UnsafeRawBufferPointer(zeros)[..<min(zeros.count, length - offset)])
            try file.writeFully(slice, at: offset)
            // Slice by slice, so that a commit never waits behind a whole segment of zeros.
            try file.synchronize()
            offset += slice.count
        }
    }

    private var isHurried: Bool {
        phase.withLock { phase in
            if case .hurried = phase { return true }
            return false
        }
    }
}
