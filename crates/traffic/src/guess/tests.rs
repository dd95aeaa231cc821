//! Claims about `guess`.

use super::{InputFormat, guess};

#[test]
fn each_format_is_told_by_its_first_lines() {
    use InputFormat::{Combined, Ltsv, Tidegate, Varnish, Varnish3, VarnishJson};
    let cases: [(&str, InputFormat); 14] = [
        ("*   << Request  >> 318737\n-   Begin          req 318736 rxreq\n", Varnish),
        ("*4* << BeReq    >> 3\n", Varnish),
        ("*              << BeReq    >>   3         \n", Varnish),
        ("-   ReqURL         /cut\n\n*   << BeReq    >> 3\n", Varnish),
        ("         0 CLI            - Rd ping\n         3 Link           b bereq 2\n", Varnish),
        ("         0 CLI            - Rd ping\n", Varnish),
        ("    0 CLI          - Rd ping\n   11 RxURL        c /\n", Varnish3),
        ("    0 CLI          - Rd ping\n", Varnish3),
        ("205 VCL_call     c recv lookup\n205 ReqEnd       c 933976005 1 2 3 4 5\n", Varnish3),
        ("   12 ReqStart     c 127.0.0.1 58912 595005213\n", Varnish3),
        ("{\"req\":{\"url\":\"/\"},\"side\":\"client\",\"id\":36}\n", VarnishJson),
        ("127.0.0.1 - - [21/Nov/2026:03:54:12 +0000] \"GET / HTTP/1.1\" 200 5\n", Combined),
        ("time:2026-11-21T03:54:12Z\turi:/\tstatus:200\n", Ltsv),
        (
            concat!(
                "{\"time\":\"2026-11-21T03:54:12.123456Z\",",
                "\"id\":\"0af7651916cd43dd8448eb211c80319c\",\"method\":\"GET\",\"path\":\"/\",",
                "\"status\":200,\"bytes_in\":0,\"bytes_out\":5,",
                "\"decision\":\"generic\",\"cache\":\"hit\",\"phases\":{},\"total\":80}\n"
            ),
            Tidegate,
        ),
    ];
    for (text, format) in cases {
        assert_eq!(guess(text.as_bytes()), Some(format), "{text}");
    }
}

#[test]
fn nothing_is_guessed_of_other_lines() {
    for text in ["", "\n\n", "hello\n", "{\"a\": 1}\n", "17 bottles c of beer\n", "\u{0}\u{1}\n"] {
        assert_eq!(guess(text.as_bytes()), None, "{text:?}");
    }
}

#[test]
fn every_format_has_a_name_of_its_own() {
    for format in InputFormat::ALL {
        assert_eq!(format.name().parse(), Ok(format));
    }
    assert!("xml".parse::<InputFormat>().unwrap_err().contains("varnish-json"));
}
