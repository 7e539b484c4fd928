import SheafBytes
import SheafSync
import SheafTestSupport

/// What becomes of what a peer says on one connection when it is not to be trusted.
///
/// The peer is one like all others, so that its connections get to wherever those of others get; what it
/// says is changed, said twice, held back, or put in the place of something else, in frames whose numbers
/// and checksums are right. So the other side has to look at what is in them.
struct Mangler {
    /// How bad it is.
    enum Temper: CaseIterable {
        /// Something is wrong now and then.
        case sly
        /// Something is wrong mostly.
        case wild
        /// All is right, but there is much more of it.
        case chatty
        /// It reads nothing.
        case deaf
    }

    let temper: Temper
    private var random: SeededRandom
    private var frames = FrameReader(limit: SyncLimits.frameLength)
    private var writer = FrameWriter()
    private var own = SegmentReader()
    private var segments = SegmentWriter()
    private var pieces: [UInt8] = []
    /// What is said behind the next frame.
    private var heldBack: Frame?
    private var hasGreeted = false
    private(set) var lies = 0

    init(seed: UInt64) {
        random = SeededRandom(seed: seed, "mangler")
        temper = Temper.allCases[random.below(Temper.allCases.count)]
    }

    /// What is sent in the place of some bytes; frames that others have said are at hand in `heard`.
    mutating func mangle(_ bytes: [UInt8], _ heard: HeardFrames) throws -> [UInt8] {
        bytes.withUnsafeBytes { frames.append($0) }
        var sent: [UInt8] = []
        while let frame = try frames.next() {
            for said in try said(frame, heard) { sent += writer.bytes(of: said) }
            if isWrong, random.chance(1, in: 30) { sent += noise() }
        }
        return sent
    }

    private var isWrong: Bool { temper != .deaf }

    private mutating func said(_ frame: Frame, _ heard: HeardFrames) throws -> [Frame] {
        guard hasGreeted else {
            // Who does not greet right is gone at once.
            hasGreeted = true
            return random.chance(1, in: 20) ? [mutated(frame)] : [frame]
        }
        guard let frame = try own(frame) else { return [] }
        var said = lie(about: frame, heard)
        if let heldBack {
            said.append(heldBack)
            self.heldBack = nil
        }
        return said
    }

    /// Puts a segment together, since what it stands on is what was really said before.
    private mutating func own(_ frame: Frame) throws -> Frame? {
        guard frame.type == .segment,
            let (generation, isWhole, block) = SegmentPiece.parts(of: frame.body)
        else { return frame }
        pieces += block
        guard isWhole else { return nil }
        var raw = try pieces.withUnsafeBytes { try own.raw(of: $0) }
        pieces = []
        if random.chance(1, in: temper == .wild ? 3 : 12), temper != .deaf {
            lies += 1
            raw = falsified(raw)
        }
        return Frame(.segment, generation + [0] + segments.bytes(of: raw))
    }

    private mutating func lie(about frame: Frame, _ heard: HeardFrames) -> [Frame] {
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
        case 4: return [Frame(FrameType.allCases[random.below(19)], frame.body)]
        case 5..<7: return [frame] + (heard.any(&random).map { [$0] } ?? [])
        case 7: return [frame] + (heard.any(&random).map { [mutated($0)] } ?? [])
        default: return [frame, FalseFrames.any(&random, heard)]
        }
    }

    // MARK: Changing

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

    /// Commits that say something else; mostly they can still be read.
    private mutating func falsified(_ raw: [UInt8]) -> [UInt8] {
        guard random.chance(4, in: 5),
            let commits = try? raw.withUnsafeBytes({ try ShippedCommit.all(in: $0) })
        else { return mutated(raw) }
        var writer = ByteWriter()
        for commit in commits { FalseCommits.falsified(commit, &random).write(into: &writer) }
        return writer.bytes
    }

    /// Bytes that are no frame.
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
