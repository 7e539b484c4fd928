extension String {
    /// Whether the text is the name of a system collection, or reserved for one.
    ///
    /// A store has documents of such a collection only if a peer has sent them. Bytes are compared:
    /// a combining mark may follow the prefix.
    package var isReservedCollection: Bool {
        utf8.starts(with: "system:".utf8) || utf8.starts(with: "__".utf8)
    }
}
