/// The error that an inspector cannot start.
public struct InspectorError: Error, Equatable, CustomStringConvertible, Sendable {
    /// What was wrong.
    public let message: String

    init(_ message: String) {
        self.message = message
    }

    /// The message.
    public var description: String { message }
}
