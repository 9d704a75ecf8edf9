/// The kinds of metrics that the text format knows and that are kept here.
enum MetricKind: String {
    case counter
    case gauge
    case histogram
}

/// The values of a metric under one set of labels.
protocol MetricSeries: AnyObject, Sendable {
    /// Writes the values.
    func write(_ name: String, labels: String, to text: inout ExpositionText)
}
