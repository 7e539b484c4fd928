package import SheafSync

/// A checksum of documents and their versions.
///
/// Two peers with equal checksums of a query have the same matching documents in the same versions.
public struct DocumentChecksum: Hashable, Sendable {
    /// Number of documents.
    public let count: Int
    /// 64-bit sum of the versions.
    private let sum: UInt64

    /// Creates the checksum of a list without tombstones.
    package init(_ list: VersionList) {
        (count, sum) = (list.total.count, list.total.sum)
    }
}

extension DocumentChecksum: CustomStringConvertible {
    /// The number of documents and the sum in hexadecimal, equal only for equal checksums.
    public var description: String {
        let digits = String(sum, radix: 16)
        return "\(count):" + String(repeating: "0", count: 16 - digits.count) + digits
    }
}
