/// The kind of a file in a store directory, parsed from its name (`format-spec/log.md`, table 1).
package enum FileName: Equatable, Sendable {
    case lock
    /// `SYNCED`: how far the log is durable (`SyncedMark`).
    case synced
    /// `0000000007.log`: a log segment.
    case segment(UInt32)
    /// `0000000001-0000000006.base`: a base file that replaces these segments.
    case base(ClosedRange<UInt32>)
    /// `00000000000000000042.checkpoint`; the number is the last commit that it covers.
    case checkpoint(CommitID)
    /// `00000000000000000042.closed`: an empty file that records a clean close at that commit.
    case closedMark(CommitID)
    /// `0123456789abcdef.site`: distinguishes these files from a copy; the number is random.
    case siteMark(UInt64)
    /// `0123456789abcdef.tmp`: a file whose writing was interrupted.
    case temporary
    /// `attachments`: the directory of the attachments that documents refer to.
    case attachments
    /// A file that does not belong to the store; it is never changed.
    case foreign

    package static let lockName = "LOCK"
    package static let syncedName = "SYNCED"
    package static let attachmentsName = "attachments"
    private static let randomDigits = 16

    /// Returns the name of a log segment.
    package static func name(ofSegment number: UInt32) -> String {
        padded(UInt64(number), to: 10) + ".log"
    }

    /// Returns the name of a base file that replaces `segments`.
    package static func name(ofBase segments: ClosedRange<UInt32>) -> String {
        padded(UInt64(segments.lowerBound), to: 10) + "-"
            + padded(UInt64(segments.upperBound), to: 10) + ".base"
    }

    /// Returns the name of a checkpoint of the state after `commit`.
    package static func name(ofCheckpoint commit: CommitID) -> String {
        padded(commit, to: 20) + ".checkpoint"
    }

    /// Returns the name of the mark of a clean close after `commit`.
    package static func name(ofClosedMark commit: CommitID) -> String {
        padded(commit, to: 20) + ".closed"
    }

    /// Returns the name of a site mark.
    package static func name(ofSiteMark random: UInt64) -> String {
        hexadecimal(random) + ".site"
    }

    /// Returns the name of a temporary file.
    package static func temporaryName(_ random: UInt64) -> String {
        hexadecimal(random) + ".tmp"
    }

    private static func hexadecimal(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: randomDigits - digits.count) + digits
    }

    /// Parses a file name; any deviation from the written form makes the file foreign.
    package init(_ name: String) {
        self = Self.parse(name)
    }

    private static func parse(_ name: String) -> FileName {
        if name == lockName { return .lock }
        if name == syncedName { return .synced }
        if name == attachmentsName { return .attachments }
        guard let dot = name.lastIndex(of: ".") else { return .foreign }
        let stem = name[..<dot]
        switch name[dot...] {
        case ".log":
            guard let number = number(stem, digits: 10), number >= 1 else { return .foreign }
            return UInt32(exactly: number).map(FileName.segment) ?? .foreign
        case ".base":
            let halves = stem.split(separator: "-", omittingEmptySubsequences: false)
            guard halves.count == 2,
                let first = number(halves[0], digits: 10).flatMap(UInt32.init(exactly:)),
                let last = number(halves[1], digits: 10).flatMap(UInt32.init(exactly:)),
                first >= 1, first <= last
            else { return .foreign }
            return .base(first...last)
        case ".checkpoint":
            return number(stem, digits: 20).map(FileName.checkpoint) ?? .foreign
        case ".closed":
            return number(stem, digits: 20).map(FileName.closedMark) ?? .foreign
        case ".site":
            return random(stem).map(FileName.siteMark) ?? .foreign
        case ".tmp":
            // Temporary files are removed on opening, so a foreign file must never match.
            return random(stem) == nil ? .foreign : .temporary
        default:
            return .foreign
        }
    }

    private static func padded(_ number: UInt64, to width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    private static func random(_ text: Substring) -> UInt64? {
        guard text.utf8.count == randomDigits,
            text.utf8.allSatisfy({ (48...57).contains($0) || (97...102).contains($0) })
        else { return nil }
        return UInt64(text, radix: 16)
    }

    private static func number(_ text: Substring, digits: Int) -> UInt64? {
        guard text.utf8.count == digits, text.utf8.allSatisfy({ (48...57).contains($0) }) else {
            return nil
        }
        return UInt64(text)
    }
}
