import SheafBytes
import SheafDocument
import SheafSync
import SheafTestSupport

/// The changes that a malicious peer makes to the frames of one connection.
///
/// The peer itself follows the protocol, so its connections reach all states. Its frames are
/// changed, repeated, delayed or replaced, with valid numbers and checksums, so the other side must
/// check the contents.
struct FrameMutator {
    /// The kind and the rate of the changes.
    enum Temper: CaseIterable {
        /// Changes to a few frames.
        case sly
        /// Changes to most frames.
        case wild
        /// Many additional frames.
        case chatty
        /// No changes; the peer reads nothing.
        case deaf
    }

    let temper: Temper
    private var random: SeededRandom
    private var frames = FrameReader(limit: SyncLimits.frameLength)
    private var writer = FrameWriter()
    private var own = ShippedSegmentReader()
    private var segments = ShippedSegmentWriter()
    private var pieces: [UInt8] = []
    /// The frame that is sent after the next one.
    private var heldBack: Frame?
    private var hasGreeted = false
    private(set) var lies = 0

    init(seed: UInt64) {
        random = SeededRandom(seed: seed, "mangler")
        temper = Temper.allCases[random.below(Temper.allCases.count)]
    }

    /// Returns the bytes to send instead of `bytes`; `recorded` has frames for replay.
    mutating func mangle(_ bytes: [UInt8], _ recorded: RecordedFrames) throws -> [UInt8] {
        bytes.withUnsafeBytes { frames.append($0) }
        var result: [UInt8] = []
        while let frame = try frames.next() {
            for changed in try mangled(frame, recorded) { result += writer.bytes(of: changed) }
            if isWrong, random.chance(1, in: 30) { result += noise() }
        }
        return result
    }

    private var isWrong: Bool { temper != .deaf }

    private mutating func mangled(_ frame: Frame, _ recorded: RecordedFrames) throws -> [Frame] {
        guard hasGreeted else {
            // A wrong hello ends the connection immediately, so it is rarely changed.
            hasGreeted = true
            return random.chance(1, in: 20) ? [mutated(frame)] : [frame]
        }
        guard let frame = try own(frame) else { return [] }
        var frames = falsify(about: frame, recorded)
        if let heldBack {
            frames.append(heldBack)
            self.heldBack = nil
        }
        return frames
    }

    /// Assembles a segment, sometimes falsifies it, and compresses it again for the changed stream.
    private mutating func own(_ frame: Frame) throws -> Frame? {
        guard frame.type == .segment,
            let (generation, isComplete, block) = SegmentPiece.parts(of: frame.body)
        else { return frame }
        pieces += block
        guard isComplete else { return nil }
        var raw = try pieces.withUnsafeBytes { try own.raw(of: $0) }
        pieces = []
        if random.chance(1, in: temper == .wild ? 3 : 12), temper != .deaf {
            lies += 1
            raw = falsified(raw)
        }
        return Frame(.segment, generation + [0] + segments.bytes(of: raw))
    }

    private mutating func falsify(about frame: Frame, _ recorded: RecordedFrames) -> [Frame] {
        switch temper {
        case .deaf: return [frame]
        case .sly: guard random.chance(1, in: 20) else { return [frame] }
        case .wild: guard random.chance(1, in: 2) else { return [frame] }
        case .chatty:
            guard random.chance(1, in: 4) else { return [frame] }
            let more = random.chance(1, in: 2) ? FalseFrames.harmless(&random) : frame
            lies += 1
            return [frame] + Array(repeating: more, count: random.below(200))
        }
        lies += 1
        switch random.below(10) {
        case 0: return [mutated(frame)]
        case 1: return [frame, frame]
        case 2: return []
        case 3:
            heldBack = frame
            return []
        case 4:
            let types = FrameType.allCases
            return [Frame(types[random.below(types.count)], frame.body)]
        case 5..<7: return [frame] + (recorded.any(&random).map { [$0] } ?? [])
        case 7: return [frame] + (recorded.any(&random).map { [mutated($0)] } ?? [])
        default: return [frame, FalseFrames.any(&random, recorded)]
        }
    }

    private mutating func mutated(_ frame: Frame) -> Frame {
        Frame(frame.type, mutated(frame.body))
    }

    private mutating func mutated(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        switch random.below(4) {
        case 0: bytes += random.bytes(1 + random.below(40))
        case 1 where !bytes.isEmpty: bytes.removeLast(1 + random.below(bytes.count))
        case 2 where !bytes.isEmpty:
            bytes[random.below(bytes.count)] = UInt8(truncatingIfNeeded: random.next())
        default:
            for _ in 0..<1 + random.below(4) where !bytes.isEmpty {
                bytes[random.below(bytes.count)] ^= UInt8(1 << random.below(8))
            }
        }
        return bytes
    }

    /// Returns changed commits, most of which can still be decoded.
    private mutating func falsified(_ raw: [UInt8]) -> [UInt8] {
        var names = NameTable()
        guard random.chance(4, in: 5),
            let commits = try? raw.withUnsafeBytes({
                try WireNameDictionary.commits(in: $0, &names)
            })
        else { return mutated(raw) }
        var (head, writer) = (ByteWriter(), CommitWriter())
        WireNameDictionary.write(
            (0..<names.count).map { Array((names.name($0) ?? "").utf8) }, into: &head)
        for commit in commits { FalseCommits.falsified(commit, &random).write(into: &writer) }
        return head.bytes + writer.bytes
    }

    /// Returns bytes that are no frame, or no bytes.
    private mutating func noise() -> [UInt8] {
        guard temper == .wild, random.chance(1, in: 3) else { return [] }
        var writer = ByteWriter()
        switch random.below(3) {
        case 0: writer.write(UInt32.max)
        case 1: writer.write(UInt32(1 << 20) + UInt32(random.below(3)))
        default: writer.write(random.bytes(1 + random.below(60)))
        }
        return writer.bytes
    }
}
