extension String {
    /// Returns the text with its middle cut out where it has more than `limit` Unicode scalars.
    ///
    /// An error quotes what a program passed in, which can have any length.
    func shortened(to limit: Int = 200) -> String {
        guard utf8.count > limit, unicodeScalars.count > limit else { return self }
        let head = limit * 2 / 3
        let (start, end) = (unicodeScalars.prefix(head), unicodeScalars.suffix(limit - head - 1))
        return String(UnicodeScalarView(start)) + "…" + String(UnicodeScalarView(end))
    }
}
