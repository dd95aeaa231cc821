//! What is said of an answer that is no success.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::time::Duration;

use super::Post;
use crate::backend::delivery::Transport as _;
use crate::plan::Web;

/// Posts to a server that answers with this; returns what is made of it.
fn posted(status: u16, text: &str) -> Result<String, std::io::Error> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let length = text.len();
    let answer = format!(
        "HTTP/1.1 {status} -\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{text}"
    );
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().expect("a connection");
        let mut reader = BufReader::new(&stream);
        let mut line = String::new();
        while reader.read_line(&mut line).is_ok_and(|bytes| bytes > 2) {
            line.clear();
        }
        drop((&stream).write_all(answer.as_bytes()));
    });
    let web = Web { url, headers: Vec::new() };
    let mut post = Post::new(&web, "text/plain", Duration::from_secs(20), |status| status != 400);
    assert!(post.confirms());
    assert!(post.end().is_ok(), "there is nothing to end");
    post.post("/path", b"")
}

#[test]
fn the_first_line_of_a_refusal_is_said_and_whether_it_is_final() {
    assert_eq!(posted(200, "a\nb").expect("it is taken"), "a\nb");
    assert_eq!(posted(204, "").expect("it is taken"), "");
    for (status, kind) in [(400, std::io::ErrorKind::InvalidData), (503, std::io::ErrorKind::Other)]
    {
        let error = posted(status, "no room\nand more").expect_err("it is refused");
        assert_eq!(error.kind(), kind, "{status}");
        let said = error.to_string();
        assert!(
            said.contains(&format!("answered {status}")) && said.ends_with(": no room"),
            "{said}"
        );
    }
}

#[test]
fn an_answer_counts_as_empty_once_it_is_too_long() {
    let long = "x".repeat(60_000);
    assert_eq!(posted(200, &long).expect("it is taken"), long);
    assert_eq!(posted(200, &"x".repeat(64 << 10)).expect("it is taken"), "");
}
