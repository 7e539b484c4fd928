public import SheafDocument

extension AttachmentToken {
    /// Reads a token from the value of a field; throws if the value is no token.
    public init(_ value: Value) throws {
        do throws(Refusal) {
            self = try AttachmentToken(reading: value)
        } catch {
            throw StoreError(
                .argument, "the value is not an attachment token: \(error.reason)",
                hint: "a token is the value of an ATTACHMENT field, or of \(AttachmentToken.self)")
        }
    }
}
