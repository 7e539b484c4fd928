/// The pause in accepting connections after the process ran out of descriptors.
package struct AcceptPause {
    /// Duration of the pause.
    package static let nanoseconds: UInt64 = 100_000_000

    /// The end of the pause; nil while connections are accepted.
    package private(set) var end: UInt64?

    package init() {}

    /// Begins the pause.
    package mutating func begin(at now: UInt64) { end = now + Self.nanoseconds }

    /// Ends the pause if its time has passed.
    package mutating func advance(to now: UInt64) {
        if let end, end <= now { self.end = nil }
    }
}
