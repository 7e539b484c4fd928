import SheafBytes
import SheafDocument
import SheafSync
import SheafTestSupport

/// Recorded frames of other peers, for replay by a malicious one.
struct RecordedFrames {
    private var frames: [Frame] = []
    private var next = 0
    /// The ids of requested files.
    private(set) var sought: [[UInt8]] = []

    private static let most = 256

    mutating func record(_ bytes: [UInt8]) {
        // The bytes of one effect are usually one frame. Its length and checksum are not recorded.
        guard bytes.count > 8, let type = FrameType(rawValue: bytes[8]) else { return }
        let frame = Frame(type, Array(bytes[9...]))
        if type == .seek, sought.count < 64 { sought.append(Array(frame.body.prefix(32))) }
        guard frame.body.count < 4_096 else { return }
        if frames.count < Self.most { frames.append(frame) } else { frames[next] = frame }
        next = (next + 1) % Self.most
    }

    func any(_ random: inout SeededRandom) -> Frame? {
        frames.isEmpty ? nil : frames[random.below(frames.count)]
    }

    func anySought(_ random: inout SeededRandom) -> [UInt8] {
        sought.isEmpty ? random.bytes(32) : sought[random.below(sought.count)]
    }
}

/// Frames with false contents.
enum FalseFrames {
    /// Returns a frame that is valid at any time.
    static func harmless(_ random: inout SeededRandom) -> Frame {
        switch random.below(3) {
        case 0: return Frame(.ping, [])
        case 1: return Frame(.seek, Seek(id: random.bytes(32), hops: random.below(9)).bytes)
        default: return Frame(.pong, [])
        }
    }

    static func any(_ random: inout SeededRandom, _ recorded: RecordedFrames) -> Frame {
        switch random.below(15) {
        case 0:
            let message = Acknowledge(generation: generation(&random), commit: number(&random))
            return Frame(.acknowledge, message.bytes)
        case 1: return Frame(.credit, varint(number(&random)))
        case 2: return Frame(.restart, varint(generation(&random)))
        case 3: return Frame(.announceOnly, varint(generation(&random)))
        case 4: return Frame(.subscribe, subscription(&random).parts[0].bytes)
        case 5:
            let question = (0..<random.below(5)).map { _ in UInt8(random.below(9)) }
            return Frame(
                .ask, varint(generation(&random)) + [UInt8(question.count)] + question)
        case 6:
            let documents: Want.Documents =
                switch random.below(4) {
                case 0, 1: .all
                case 2: .some(addresses(&random), isContinued: random.chance(1, in: 2))
                default: .part(addresses(&random))
                }
            return Frame(.want, Want(generation: generation(&random), documents).bytes)
        case 7:
            let entries = addresses(&random).map {
                Announce.Entry(address: $0, vector: vector(&random))
            }
            let message = Announce(
                generation: generation(&random), commit: number(&random), entries)
            return Frame(.announce, message.bytes)
        case 8:
            let message = Seek(id: recorded.anySought(&random), hops: random.below(9))
            return Frame(.seek, message.bytes)
        case 9:
            let message = Offer(id: recorded.anySought(&random), length: random.below(1 << 20))
            return Frame(.offer, message.bytes)
        case 10: return Frame(.fetch, part(&random, recorded).bytes)
        case 11: return Frame(.lacking, part(&random, recorded).bytes)
        case 12:
            let bytes = random.bytes(1 + random.below(200))
            return Frame(.part, AttachmentBytes(part(&random, recorded), bytes).bytes)
        case 13:
            let notice = RefusedNotice(
                generation: generation(&random), commit: number(&random),
                random.chance(1, in: 2) ? .result : .original, omitted: number(&random),
                addresses(&random))
            return Frame(.refused, notice.bytes)
        default:
            let type = FrameType.allCases[random.below(FrameType.allCases.count)]
            return Frame(type, random.bytes(random.below(50)))
        }
    }

    private static func part(
        _ random: inout SeededRandom, _ recorded: RecordedFrames
    ) -> AttachmentPart {
        AttachmentPart(
            id: recorded.anySought(&random), random.chance(1, in: 2) ? .hashes : .chunk,
            random.below(4))
    }

    private static func generation(_ random: inout SeededRandom) -> UInt64 {
        random.chance(1, in: 10) ? number(&random) : UInt64(random.below(6))
    }

    private static func number(_ random: inout SeededRandom) -> UInt64 {
        [0, 1, UInt64(random.below(300)), 4 << 20, 1 << 63, .max][random.below(6)]
    }

    private static func subscription(_ random: inout SeededRandom) -> Subscribe {
        let texts = [
            "SELECT * FROM secrets", "SELECT * FROM papers", "SELECT * FROM cars",
            "SELECT * FROM drafts", "SELECT * FROM groups WHERE n % 0 = 1", "SELECT",
            "SELECT * FROM secrets WHERE text LIKE '%_%_%a%_%_%'", "*",
        ]
        let queries = (0..<random.below(4)).map { _ in
            SubscribedQuery(text: texts[random.below(texts.count)], arguments: [])
        }
        let cursor = Cursor(
            log: .init(low: random.next(), high: random.next()), commit: number(&random))
        let hasCursor = random.chance(1, in: 2)
        return Subscribe(
            generation: generation(&random), queries, at: number(&random),
            from: hasCursor ? cursor : nil, complete: hasCursor ? addresses(&random) : [])
    }

    private static func addresses(_ random: inout SeededRandom) -> [DocumentAddress] {
        (0..<random.below(6)).map { _ in
            let name = ["cars", "groups", "graffiti", "nowhere"][random.below(4)]
            let text = ["c\(random.below(20))", "g\(random.below(9)).\(random.below(4))"]
            let id =
                (try? DocumentID.key(of: .string(text[random.below(2)]))) ?? random.bytes(3)
            return DocumentAddress(
                collection: name, id: random.chance(1, in: 8) ? random.bytes(5) : id)
        }
    }

    static func vector(_ random: inout SeededRandom) -> VersionVector {
        var vector = VersionVector()
        for _ in 0..<random.below(3) {
            let time = HybridTime(
                milliseconds: 1_780_000_000_000 + UInt64(random.below(20_000_000)))
            vector.record(Stamp(time, Site(rawValue: random.next() | 1)))
        }
        return vector
    }

    private static func varint(_ number: UInt64) -> [UInt8] {
        var writer = ByteWriter()
        writer.writeVarint(number)
        return writer.bytes
    }
}

/// Commits with false contents.
enum FalseCommits {
    static func falsified(_ commit: ShippedCommit, _ random: inout SeededRandom) -> ShippedCommit {
        var (number, stamp, isContinued) = (commit.commit, commit.stamp, commit.isContinued)
        var (isCut, endsPart) = (commit.isCut, commit.endsPart)
        var documents = commit.documents
        switch random.below(10) {
        case 0: number = [0, number &+ 1, .max][random.below(3)]
        case 1: isContinued.toggle()
        case 2:
            stamp = Stamp(HybridTime(rawValue: random.next()), Site(rawValue: random.next() | 1))
        case 3: documents += documents
        case 4: isCut.toggle()
        case 5: endsPart.toggle()
        default:
            for index in documents.indices {
                documents[index] = falsified(documents[index], &random)
            }
        }
        return ShippedCommit(
            commit: number, stamp: stamp, documents, isContinued: isContinued, isCut: isCut,
            endsPart: endsPart)
    }

    private static func falsified(
        _ document: ShippedDocument, _ random: inout SeededRandom
    ) -> ShippedDocument {
        var (collection, id) = (document.collection, document.id)
        var (form, bytes) = (document.form, document.bytes)
        switch random.below(6) {
        case 0: collection = ["cars", "groups", "secrets", "drafts"][random.below(4)]
        case 1: id = random.bytes(1 + random.below(8))
        case 2: form = form == .state ? .delta : .state
        case 3: bytes = random.bytes(random.below(80))
        default:
            for _ in 0..<1 + random.below(3) where !bytes.isEmpty {
                bytes[random.below(bytes.count)] ^= UInt8(1 << random.below(8))
            }
        }
        return ShippedDocument(collection: collection, id: id, form, bytes)
    }
}
