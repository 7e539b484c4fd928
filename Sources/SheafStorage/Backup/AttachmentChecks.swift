/// The checks of attachments that a backup calls, because storage lies below attachments.
package struct AttachmentChecks: Sendable {
    /// Compares a file in a directory of attachments with its name; nil if it matches.
    ///
    /// Calls `proceed` before each chunk.
    package typealias Comparison =
        @Sendable (
            _ name: String, _ volume: any Volume, _ proceed: () throws(StorageError) -> Void
        ) throws(StorageError) -> Finding?
    /// Returns the names among `names` of the files that the documents of a snapshot reference.
    package typealias References =
        @Sendable (
            _ names: Set<String>, _ snapshot: LogSnapshot
        ) -> Set<String>

    package let finding: Comparison
    package let referenced: References

    package init(finding: @escaping Comparison, referenced: @escaping References) {
        self.finding = finding
        self.referenced = referenced
    }
}
