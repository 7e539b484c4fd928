import SheafSync

/// What some documents add up to: two peers with the same checksum of a query have the same documents that
/// match it, in the same versions.
public struct DocumentChecksum: Hashable, Sendable {
    /// How many documents there are.
    public let count: Int
    /// 128 bits.
    private let sum: VersionSum

    init(_ list: VersionList) {
        count = list.documents.count
        sum = list.sum
    }
}

extension DocumentChecksum: CustomStringConvertible {
    public var description: String {
        func digits(_ half: UInt64) -> String {
            let text = String(half, radix: 16)
            return String(repeating: "0", count: 16 - text.count) + text
        }
        return "\(count):\(digits(sum.high))\(digits(sum.low))"
    }
}
