/// What the name of a file in a store's directory says (`format-spec/log.md`, table 1).
package enum FileName: Equatable, Sendable {
    case lock
    /// `0000000007.log`
    case segment(UInt32)
    /// `0000000001-0000000006.base`
    case base(ClosedRange<UInt32>)
    /// `00000000000000000042.checkpoint`: the last commit it covers.
    case checkpoint(CommitID)
    /// `00000000000000000042.closed`: an empty file, left when the store was closed at that commit.
    case closedMark(CommitID)
    /// `0123456789abcdef.site`: tells these files from a copy of them; the number is random.
    case siteMark(UInt64)
    /// `0123456789abcdef.tmp`: whatever was being written when the power went.
    case temporary
    /// `attachments`: the directory of what documents name.
    case attachments
    /// A file that is none of ours, left alone.
    case foreign

    package static let lockName = "LOCK"
    package static let attachmentsName = "attachments"
    private static let randomDigits = 16

    package static func name(ofSegment number: UInt32) -> String {
        padded(UInt64(number), to: 10) + ".log"
    }

    package static func name(ofBase segments: ClosedRange<UInt32>) -> String {
        padded(UInt64(segments.lowerBound), to: 10) + "-"
            + padded(UInt64(segments.upperBound), to: 10) + ".base"
    }

    package static func name(ofCheckpoint commit: CommitID) -> String {
        padded(commit, to: 20) + ".checkpoint"
    }

    package static func name(ofClosedMark commit: CommitID) -> String {
        padded(commit, to: 20) + ".closed"
    }

    package static func name(ofSiteMark random: UInt64) -> String {
        hexadecimal(random) + ".site"
    }

    package static func temporaryName(_ random: UInt64) -> String {
        hexadecimal(random) + ".tmp"
    }

    private static func hexadecimal(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: randomDigits - digits.count) + digits
    }

    /// Reads a file name; only the exact form that is written counts.
    package init(_ name: String) {
        self = Self.parse(name)
    }

    private static func parse(_ name: String) -> FileName {
        if name == lockName { return .lock }
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
            // Files that are not ours must never be taken for leftovers, which are removed.
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
