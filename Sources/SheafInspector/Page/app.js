const about = await (await fetch("about")).json();
document.body.textContent = about.path;
