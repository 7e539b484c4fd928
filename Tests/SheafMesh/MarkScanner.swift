import SheafDocument
import SheafSync

/// A scanner for documents that the receiver must not have.
///
/// The bytes of each restricted document have a mark with the name of its owner, for example
/// `%%nobody%%`.
struct MarkScanner {
    /// The marks that may occur; nil allows all.
    let allowed: Set<String>?
    /// Whether the receiver names documents that it got elsewhere.
    ///
    /// It then receives requests for these documents, and their tombstones.
    let receivesOwnFrames: Bool
    /// The greatest commit in the scanned segments.
    private(set) var lastCommit: UInt64 = 0
    private var frames = FrameReader(limit: SyncLimits.frameLength)
    private var segments = ShippedSegmentReader()
    private var pieces: [UInt8] = []
    private var names = NameTable()

    init(allowing allowed: Set<String>?, receivesOwnFrames: Bool = false) {
        self.allowed = allowed
        self.receivesOwnFrames = receivesOwnFrames
    }

    /// Returns the mark in a document that only `owner` may have.
    static func mark(_ owner: String) -> String { "%%\(owner)%%" }

    /// Scans sent bytes as their receiver decodes them; returns a mark that is not allowed, or nil.
    mutating func read(_ bytes: [UInt8]) throws -> String? {
        bytes.withUnsafeBytes { frames.append($0) }
        while let frame = try frames.next() {
            if let mark = try read(frame) { return "\(mark), in a frame of type \(frame.type)" }
        }
        return nil
    }

    private mutating func read(_ frame: Frame) throws -> String? {
        guard frame.type == .segment else {
            return frame.type == .want && receivesOwnFrames ? nil : mark(in: frame.body)
        }
        guard let (_, isComplete, block) = SegmentPiece.parts(of: frame.body) else { return nil }
        pieces += block
        guard isComplete else { return nil }
        let raw = try pieces.withUnsafeBytes { try segments.raw(of: $0) }
        pieces = []
        let commits = try raw.withUnsafeBytes { try WireNameDictionary.commits(in: $0, &names) }
        lastCommit = max(lastCommit, commits.map(\.commit).max() ?? 0)
        guard receivesOwnFrames else { return mark(in: raw) }
        // A tombstone may have a mark in its id, if the receiver named the document, and none in
        // its contents.
        for document in commits.flatMap(\.documents) {
            if let mark = mark(in: document.bytes) { return mark }
        }
        return nil
    }

    /// Returns the first mark in some bytes that is not allowed, or nil.
    func mark(in bytes: [UInt8]) -> String? {
        guard let allowed else { return nil }
        let percent = UInt8(ascii: "%")
        // Iterators and closures would take several times as long in a debug build.
        return bytes.withUnsafeBytes { bytes in
            var start = 0
            while start + 1 < bytes.count {
                let first = start
                start += 1
                guard bytes[first] == percent, bytes[start] == percent else { continue }
                let nameStart = start + 1
                var end = nameStart
                while end < bytes.count, Self.isInName(bytes[end]) { end += 1 }
                guard end > nameStart, end + 1 < bytes.count, bytes[end] == percent,
                    bytes[end + 1] == percent
                else { continue }
                let text = String(decoding: bytes[nameStart..<end], as: UTF8.self)
                if !allowed.contains(text) { return text }
                start = end + 2
            }
            return nil
        }
    }

    /// Whether a byte may be in the name of a mark.
    private static func isInName(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z")
            || byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }
}

/// The body of a frame with a part of a segment (`format-spec/sync.md`, table 15).
enum SegmentPiece {
    static func parts(of body: [UInt8]) -> (generation: [UInt8], isWhole: Bool, block: [UInt8])? {
        // The generation is a varint, whose bytes are kept unchanged.
        guard let end = body.firstIndex(where: { $0 < 0x80 }), end + 1 < body.count else {
            return nil
        }
        return (Array(body[...end]), body[end + 1] == 0, Array(body[(end + 2)...]))
    }
}
