/// The receiver of progress reports of an export.
package struct ExportProgress {
    /// The state of an export.
    package enum Report: Equatable, Sendable {
        /// The first of two passes, which finds the columns, has read this many rows.
        case scanned(rows: Int)
        /// Rows and bytes written; nil where they are unknown.
        case written(rows: Int, bytes: Int?)
    }

    private let send: (Report) throws(ExportError) -> Void

    /// Number of rows between two reports.
    private static let interval = 4_096

    /// Creates a receiver; `send` is called every few thousand rows, and an error of it ends the
    /// export.
    package init(_ send: @escaping (Report) throws(ExportError) -> Void = { _ in }) {
        self.send = send
    }

    @inline(__always)
    func report(_ rows: Int, _ bytes: Int?) throws(ExportError) {
        if rows % Self.interval == 0 { try send(.written(rows: rows, bytes: bytes)) }
    }

    func reportScan(_ rows: Int) throws(ExportError) {
        if rows % Self.interval == 0 { try send(.scanned(rows: rows)) }
    }
}
