/// An operation, its position in the log, and the commit that wrote it.
package struct LoggedOperation {
    package let position: LogPosition
    package let commit: CommitID
    package let operation: Operation
}
