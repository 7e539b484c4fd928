import SheafDocument
import SheafSync

/// A reader that describes frames as text; it decodes them as their receiver does.
struct FrameDescriber {
    private var frames = FrameReader(limit: SyncLimits.frameLength)
    private var segments = ShippedSegmentReader()
    private var pieces: [UInt8] = []
    private var names = NameTable()

    /// Returns descriptions of the frames in some bytes; a hello frame starts a new connection.
    mutating func describe(_ bytes: [UInt8]) -> [String] {
        if bytes.count > 8, FrameType(rawValue: bytes[8]) == .hello { self = FrameDescriber() }
        bytes.withUnsafeBytes { frames.append($0) }
        var found: [String] = []
        while let frame = try? frames.next() {
            if frame.type == .close {
                let closeMessage = try? frame.body.withUnsafeBytes {
                    try CloseMessage(decoding: $0)
                }
                found.append("close: \(closeMessage.map { "\($0.code), \($0.text)" } ?? "")")
                continue
            }
            found.append("\(frame.type) of \(frame.body.count)" + ((try? contents(frame)) ?? ""))
        }
        return found
    }

    private mutating func contents(_ frame: Frame) throws -> String {
        guard frame.type == .segment,
            let (_, isComplete, block) = SegmentPiece.parts(of: frame.body)
        else { return "" }
        pieces += block
        guard isComplete else { return "" }
        let raw = try pieces.withUnsafeBytes { try segments.raw(of: $0) }
        pieces = []
        let known = names.count
        let commits = try raw.withUnsafeBytes { try WireNameDictionary.commits(in: $0, &names) }
        let newNames = (known..<names.count).compactMap { names.name($0) }
        let documents = commits.map { commit in
            let documents = commit.documents.map { document in
                let hex = document.bytes.map { String($0, radix: 16) }.joined(separator: ".")
                return "\((try? DocumentID.id(of: document.id).json) ?? "?"): \(hex)"
            }
            return "batch \(commit.commit): \(documents)"
        }
        return " \(newNames) \(documents)"
    }
}
