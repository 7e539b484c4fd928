/// A file of the page, which is part of the program.
struct PageFile: Sendable {
    let contentType: String
    let contents: [UInt8]

    /// The files by the names in their URLs; each file in `Page/` is here.
    private static let files: [String: [UInt8]] = [
        "index.html": PackageResources.index_html,
        "app.js": PackageResources.app_js,
    ]

    private static let contentTypes = [
        "css": "text/css; charset=utf-8", "html": "text/html; charset=utf-8",
        "js": "text/javascript; charset=utf-8", "png": "image/png", "svg": "image/svg+xml",
    ]

    /// Returns the file for a path such as `/app.js`; nil if there is none.
    init?(path: String) {
        let name = path == "/" ? "index.html" : String(path.dropFirst())
        guard path.hasPrefix("/"), let contents = Self.files[name],
            let ending = name.split(separator: ".").last,
            let contentType = Self.contentTypes[String(ending)]
        else { return nil }
        (self.contentType, self.contents) = (contentType, contents)
    }
}
