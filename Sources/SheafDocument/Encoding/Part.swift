/// A kind of content at a field; concurrent writes can leave several of them.
///
/// The order decides which part is visible if several were written at the same time.
package enum Part: UInt8, CaseIterable, Sendable {
    case register
    case attachment
    case map
    /// A counter that can be restarted.
    case counter
    /// A counter that cannot be restarted.
    case olderCounter
}

/// A set of parts.
package struct PartSet: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    package init(_ part: Part) {
        rawValue = 1 << part.rawValue
    }

    package static let register = PartSet(.register)
    package static let attachment = PartSet(.attachment)
    package static let map = PartSet(.map)
    package static let counter = PartSet(.counter)
    package static let olderCounter = PartSet(.olderCounter)
    package static let all: PartSet = [.register, .attachment, .map, .counter, .olderCounter]

    func contains(_ part: Part) -> Bool { contains(PartSet(part)) }
}
