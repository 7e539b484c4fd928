package import SheafSync

/// A checksum of documents and their versions.
///
/// Two peers with equal checksums of a query have the same matching documents in the same versions.
public struct DocumentChecksum: Hashable, Sendable {
    /// Number of documents.
    public let count: Int
    /// 128-bit sum of the versions.
    private let sum: VersionSum

    package init(_ list: VersionList) {
        count = list.documents.count
        sum = list.sum
    }
}

extension DocumentChecksum: CustomStringConvertible {
    /// The number of documents and the sum in hexadecimal, equal only for equal checksums.
    public var description: String {
        func digits(_ half: UInt64) -> String {
            let text = String(half, radix: 16)
            return String(repeating: "0", count: 16 - text.count) + text
        }
        return "\(count):\(digits(sum.high))\(digits(sum.low))"
    }
}
