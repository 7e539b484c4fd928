/// The checks of attachments that a backup calls, because storage lies below attachments.
package struct AttachmentChecks: Sendable {
    /// A comparison of a file in a directory of attachments with its name; nil if it matches.
    ///
    /// It calls `proceed` before each chunk.
    package typealias Comparison =
        @Sendable (
            _ name: String, _ volume: any Volume, _ proceed: () throws(StorageError) -> Void
        ) throws(StorageError) -> Finding?
    /// A search for the names of the files that the documents of a snapshot reference.
    package typealias References =
        @Sendable (
            _ names: Set<String>, _ snapshot: LogSnapshot
        ) -> Set<String>

    /// Whether a name is that of a complete attachment.
    package let isComplete: @Sendable (_ name: String) -> Bool
    package let finding: Comparison
    package let referenced: References

    package init(
        isComplete: @escaping @Sendable (_ name: String) -> Bool, finding: @escaping Comparison,
        referenced: @escaping References
    ) {
        self.isComplete = isComplete
        self.finding = finding
        self.referenced = referenced
    }
}
