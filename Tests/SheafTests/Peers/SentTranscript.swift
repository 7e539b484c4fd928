import Sheaf
import SheafBytes
import SheafDocument
import SheafSync

/// The batches, announcements and restarts that one end of a connection receives, as lines of text.
///
/// The line of a batch, or of a part of it, has the ids of the documents and the properties of the
/// part, such as `a b (cut, of 3)`.
final class SentTranscript {
    private struct Entry {
        let title: String
        let number: UInt64
        let text: String
    }

    private var segments = ShippedSegmentReader()
    private var names = NameTable()
    private var fragments: [UInt8] = []
    private var entries: [Entry] = []
    /// The lengths of the documents and their ids, in the order of arrival.
    private(set) var lengths: [Int] = []
    /// The ids of the documents that arrived as deltas.
    private(set) var deltas: [String] = []

    /// The numbers of the batches and announcements.
    var numbers: [UInt64] { entries.map(\.number) }

    /// The lines without the numbers of batches.
    var texts: [String] { entries.map { $0.title + $0.text } }

    /// Returns the lines with the differences of their numbers from `base`.
    func lines(after base: UInt64) -> [String] {
        entries.map { entry in
            let number = Int(entry.number) - Int(base)
            return "\(entry.title)\(number):" + (entry.text.isEmpty ? "" : " \(entry.text)")
        }
    }

    /// Removes and returns the lines.
    func drainLines(after base: UInt64) -> [String] {
        defer { entries = [] }
        return lines(after: base)
    }

    /// Removes and returns the lines without numbers.
    func drainTexts() -> [String] {
        defer { entries = [] }
        return texts
    }

    /// Records a frame before it arrives.
    fileprivate func record(_ frame: Frame) throws {
        switch frame.type {
        case .historyDropped: segments.dropHistory()
        case .restart: entries.append(Entry(title: "restart ", number: 0, text: ""))
        case .announce:
            let message = try frame.body.withUnsafeBytes { try Announce(decoding: $0) }
            let ids = try message.entries.map { try Self.text(of: $0.address.id) }
            entries.append(
                Entry(
                    title: "announced ", number: message.commit,
                    text: ids.joined(separator: " ")))
        case .segment:
            // The generation has one byte, and so has the flag after it.
            fragments += frame.body.dropFirst(2)
            guard frame.body[1] == 0 else { return }
            let block = fragments
            fragments = []
            let raw = try block.withUnsafeBytes { try segments.raw(of: $0) }
            let commits = try raw.withUnsafeBytes {
                try WireNameDictionary.commits(in: $0, &names)
            }
            for commit in commits { try record(commit) }
        default: break
        }
    }

    private func record(_ commit: ShippedCommit) throws {
        var words: [String] = []
        for document in commit.documents {
            let id = try Self.text(of: document.id)
            words.append(id)
            lengths.append(document.id.count + document.bytes.count)
            if document.form == .delta { deltas.append(id) }
        }
        var properties: [String] = []
        if commit.stamp != nil { properties.append("stamped") }
        if commit.isContinued { properties.append("continued") }
        if commit.isCut { properties.append("cut") }
        if commit.endsPart { properties.append("last") }
        if let remaining = commit.remaining { properties.append("of \(remaining)") }
        if !properties.isEmpty { words.append("(\(properties.joined(separator: ", ")))") }
        entries.append(
            Entry(title: "", number: commit.commit, text: words.joined(separator: " ")))
    }

    /// Returns an id, without the quotes of a string.
    private static func text(of id: [UInt8]) throws -> String {
        try DocumentID.id(of: id).json.filter { $0 != "\"" }
    }
}

extension DocumentScene {
    /// Connects two nodes, and records the batches that the second one receives.
    func connectRecorded(
        _ left: Int, _ right: Int, rightsOfRight: PeerRights? = nil, sendsRights: Bool = true
    ) throws -> (wire: UInt64, sent: SentTranscript) {
        let wire = try connect(
            left, right, rightsOfRight: rightsOfRight, sendsRights: sendsRights)
        let sent = SentTranscript()
        forge(wire, to: right) { frame in
            try sent.record(frame)
            return frame
        }
        return (wire, sent)
    }
}
