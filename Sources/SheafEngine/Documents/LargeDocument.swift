package import SheafDocument

/// A document that exceeds the soft size limit.
package struct LargeDocument: Sendable {
    package let collection: String
    package let id: Value
    package let length: Int
    /// The soft size limit in bytes.
    package let limit: Int
}
