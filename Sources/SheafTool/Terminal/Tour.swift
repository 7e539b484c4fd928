/// The first tasks of a newcomer, one line of a shell each.
enum Tour {
    struct Task {
        let title: String
        /// The command line, for `/bin/sh`.
        let line: String
        /// The command that the line needs; nil for the shell of the tool.
        let command: String?
        /// Whether the line runs until Ctrl-C.
        var isEndless = false
    }

    /// The line that creates the file of the first task.
    static let preparation =
        #"printf '_id,color,miles\na,blue,3000\nb,red,10\nc,blue,9000\n' > cars.csv"#

    static let tasks = [
        Task(
            title: "create a store from a CSV file", line: "sheaf import cars.sheaf cars cars.csv",
            command: "import"),
        Task(
            title: "list the collections", line: #"sheaf cars.sheaf -c ".collections""#,
            command: nil),
        Task(
            title: "list the fields and the indexes",
            line: #"sheaf cars.sheaf -c ".fields cars" -c ".indexes""#, command: nil),
        Task(
            title: "find documents",
            line: #"sheaf query cars.sheaf "SELECT * FROM cars WHERE color = 'blue'""#,
            command: "query"),
        Task(
            title: "group them",
            line: #"sheaf query cars.sheaf "SELECT color, avg(miles) FROM cars GROUP BY color""#,
            command: "query"),
        Task(
            title: "show the plan",
            line: #"sheaf query cars.sheaf "SELECT * FROM cars WHERE color = 'blue'" --explain"#,
            command: "query"),
        Task(
            title: "follow changes", line: #"sheaf watch cars.sheaf "SELECT * FROM cars""#,
            command: "watch", isEndless: true),
        Task(title: "back up", line: "sheaf backup cars.sheaf backup.sheaf", command: "backup"),
        Task(
            title: "compare two stores", line: "sheaf diff backup.sheaf cars.sheaf",
            command: "diff"),
        Task(
            title: "follow the log into jq",
            line: "sheaf log cars.sheaf --follow --json | jq -c '[.commit, .operations]'",
            command: "log", isEndless: true),
    ]

    /// The text of `sheaf help tour`.
    static var text: String {
        var lines = [
            "Ten tasks, one line each. The first line makes a file to try them with; any process",
            "may write to the store while the others run.", "", "  \(preparation)", "",
        ]
        for (number, task) in tasks.enumerated() {
            lines.append("\(number + 1). \(task.title)" + (task.isEndless ? ", until Ctrl-C" : ""))
            lines.append("  \(task.line)")
        }
        return (lines + ["", "'sheaf help COMMAND' describes each command."])
            .joined(separator: "\n")
    }
}
